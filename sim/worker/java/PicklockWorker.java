/* PicklockWorker - what a lock program in Java needs to be tested by picklock. One file, and the JDK (17 or later).
 *
 *     public class MyLock implements PicklockWorker {
 *         public void init(Settings settings) { ... }     // once, and at each reset; settings.key(), .ttlMs() ...
 *         public Outcome acquire(long waitMs) { ... }     // Outcome.of(true), Outcome.of(false), or Outcome.granted(fence)
 *         public Outcome release() { ... }                // Outcome.of(false): it was not mine
 *         public static void main(String[] words) throws Exception { PicklockWorker.run(new MyLock()); }
 *     }
 *
 *     $ javac -d classes PicklockWorker.java MyLock.java
 *     $ picklock test --once 'java -cp classes MyLock'
 *
 * What a method throws is an error: nobody knows whether it has happened. Refused is Outcome.of(false), and nothing else.
 *
 * Standard output is picklock's alone: what the library prints goes to standard error. See docs/WORKERS.md of picklock. */

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;

public interface PicklockWorker {
    /* What init said. client: 0, 1, ..; name: "A"; servers: "127.0.0.1:6379", ..; user, password: those that a connection may give */
    record Settings(String key, long ttlMs, long workMs, int client, String name, List<String> servers, String user, String password) {
        public String host(int server) {
            return servers.get(server).split(":")[0];
        }

        public int port(int server) {
            return Integer.parseInt(servers.get(server).split(":")[1]);
        }
    }

    record Outcome(boolean isOk, Long fence) {
        public static Outcome of(boolean isOk) {
            return new Outcome(isOk, null);
        }

        public static Outcome granted(long fence) {
            return new Outcome(true, fence);
        }
    }

    default List<String> promises() {
        return List.of("expiry");
    }

    /* What is tested, for people. */
    default String library() {
        return "";
    }

    void init(Settings settings) throws Exception;

    Outcome acquire(long waitMs) throws Exception;

    default Outcome extend() throws Exception {
        throw new UnsupportedOperationException("extend");
    }

    Outcome release() throws Exception;

    /* The acquire that goes on is to end soon (promise it with "cancels"). True: it will. In a thread of its own. */
    default boolean cancel() throws Exception {
        return false;
    }

    /* Before a reset: lets go of connections, threads, timers. Nothing of the attempt before may go on. */
    default void close() throws Exception {
    }

    /* The library knows that the lock is gone (promise it with "notice"). */
    static void lost() {
        Channel.say("{\"event\":\"lost\"}");
    }

    /* Serves until picklock closes standard input; then ends the program, whatever threads it has. */
    static void run(PicklockWorker worker) throws Exception {
        InputStream incoming = Channel.takeStreams();
        BufferedReader lines = new BufferedReader(new InputStreamReader(incoming, StandardCharsets.UTF_8));
        Requests requests = worker.promises().contains("cancels") ? Channel.readAhead(worker, lines) : () -> Channel.read(lines);
        Settings settings = null;
        for (Map<String, Object> request = requests.next(); !request.isEmpty(); request = requests.next()) {
            String op = (String) request.get("op");
            if (op.equals("init"))
                settings = Channel.settings(request);
            else if (op.equals("reset"))
                worker.close();
            Channel.answerTo(worker, op, request, settings);
        }
        System.exit(0);
    }

    /* The next request; an empty one: there is none any more. */
    interface Requests {
        Map<String, Object> next() throws Exception;
    }

    /* The protocol's own descriptors, and what is said there. */
    final class Channel {
        private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

        private Channel() {
        }

        /* Whoever else writes to standard output writes to standard error, and reads nothing. */
        static InputStream takeStreams() {
            System.setOut(System.err);
            System.setIn(new ByteArrayInputStream(new byte[0]));
            return new FileInputStream(FileDescriptor.in);
        }

        static synchronized void say(String answer) {
            try {
                OUT.write((answer + "\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException error) {
                System.exit(1);
            }
        }

        static Map<String, Object> read(BufferedReader lines) throws IOException {
            String line = lines.readLine();
            return line == null ? Map.of() : new Json(line).object();
        }

        /* Read by a thread of their own, which performs those that cancel what goes on. */
        static Requests readAhead(PicklockWorker worker, BufferedReader lines) {
            LinkedBlockingQueue<Map<String, Object>> waiting = new LinkedBlockingQueue<>();
            Thread reading = new Thread(() -> {
                try {
                    for (Map<String, Object> request = read(lines); !request.isEmpty(); request = read(lines)) {
                        if ("cancel".equals(request.get("op")))
                            answerTo(worker, "cancel", request, null);
                        else
                            waiting.put(request);
                    }
                    waiting.put(Map.of());
                } catch (Exception error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
            reading.setDaemon(true);
            reading.start();
            return waiting::take;
        }

        static void answerTo(PicklockWorker worker, String op, Map<String, Object> request, Settings settings) throws Exception {
            say("{\"id\":" + request.get("id") + "," + answer(worker, op, request, settings) + "}");
        }

        @SuppressWarnings("unchecked")
        static Settings settings(Map<String, Object> request) {
            return new Settings((String) request.get("key"), (Long) request.get("ttl_ms"), (Long) request.get("work_ms"),
                    ((Long) request.get("client")).intValue(), (String) request.get("name"), (List<String>) request.get("servers"),
                    (String) request.get("user"), (String) request.get("password"));
        }

        static String answer(PicklockWorker worker, String op, Map<String, Object> request, Settings settings) throws Exception {
            if (op.equals("init") || op.equals("reset")) {
                worker.init(settings);
                String promises = worker.promises().stream().map(Json::quoted).collect(Collectors.joining(","));
                return "\"ready\":true,\"promises\":[" + promises + "],\"library\":" + Json.quoted(worker.library());
            }
            try {
                return perform(worker, op, request);
            } catch (Exception | LinkageError error) { // whatever a library throws is its error, and no end of the worker
                return "\"error\":" + Json.quoted(error.toString());
            }
        }

        private static String perform(PicklockWorker worker, String op, Map<String, Object> request) throws Exception {
            switch (op) {
                case "time":
                    return "\"monotonic_us\":" + System.nanoTime() / 1000 + ",\"wall_us\":" + System.currentTimeMillis() * 1000;
                case "acquire":
                    return words(worker.acquire((Long) request.get("wait_ms")));
                case "extend":
                    return words(worker.extend());
                case "release":
                    return words(worker.release());
                case "cancel":
                    return "\"ok\":" + worker.cancel();
                default:
                    throw new IllegalArgumentException("unknown op " + op);
            }
        }

        private static String words(Outcome outcome) {
            return "\"ok\":" + outcome.isOk() + (outcome.fence() == null ? "" : ",\"fence\":" + outcome.fence());
        }
    }

    /* As much JSON as requests have: an object of texts, whole numbers, and lists of them. */
    final class Json {
        private final String text;
        private int at;

        Json(String text) {
            this.text = text;
        }

        private char next() {
            while (Character.isWhitespace(text.charAt(at)))
                at++;
            return text.charAt(at);
        }

        private boolean take(char wanted) {
            boolean isThere = next() == wanted;
            if (isThere)
                at++;
            return isThere;
        }

        Map<String, Object> object() {
            Map<String, Object> made = new LinkedHashMap<>();
            take('{');
            while (!take('}')) {
                String name = string();
                take(':');
                made.put(name, value());
                take(',');
            }
            return made;
        }

        private Object value() {
            if (next() == '"')
                return string();
            if (next() == '[')
                return list();
            int begin = at;
            while ("-0123456789".indexOf(text.charAt(at)) >= 0)
                at++;
            return Long.parseLong(text.substring(begin, at));
        }

        private List<Object> list() {
            List<Object> made = new ArrayList<>();
            take('[');
            while (!take(']')) {
                made.add(value());
                take(',');
            }
            return made;
        }

        private String string() {
            StringBuilder made = new StringBuilder();
            take('"');
            for (; text.charAt(at) != '"'; at++)
                made.append(text.charAt(at) == '\\' ? escaped() : text.charAt(at));
            at++;
            return made.toString();
        }

        private char escaped() {
            char kind = text.charAt(++at);
            if (kind == 'u') {
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
            }
            int known = "bfnrt".indexOf(kind);
            return known < 0 ? kind : "\b\f\n\r\t".charAt(known);
        }

        static String quoted(String text) {
            StringBuilder made = new StringBuilder("\"");
            for (char each : text.toCharArray()) {
                if (each == '"' || each == '\\')
                    made.append('\\').append(each);
                else if (each < ' ' || Character.isSurrogate(each))
                    made.append(String.format("\\u%04x", (int) each));
                else
                    made.append(each);
            }
            return made.append('"').toString();
        }
    }
}
