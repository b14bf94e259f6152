/* A small lock of our own, over a small client of our own: SET NX PX with a random token, released and extended by scripts that compare. */

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;

public class SmallLock implements PicklockWorker {
    private static final String RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
    private static final String EXTEND =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

    private final SecureRandom random = new SecureRandom();
    private Settings settings;
    private Client client;
    private String token;
    private volatile boolean isCancelled; // the acquire that goes on

    /* One command at a time; connects when it has to. A string, a Long, or null. */
    static class Client {
        private final String host;
        private final int port;
        private Socket socket;
        private InputStream replies;

        Client(String host, int port) {
            this.host = host;
            this.port = port;
        }

        Object ask(Object... words) throws IOException {
            try {
                if (socket == null)
                    connect();
                StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
                for (Object word : words)
                    request.append('$').append(word.toString().length()).append("\r\n").append(word).append("\r\n");
                socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
                return reply();
            } catch (IOException error) {
                close();
                throw error;
            }
        }

        private void connect() throws IOException {
            socket = new Socket(host, port);
            socket.setTcpNoDelay(true);
            replies = new BufferedInputStream(socket.getInputStream());
        }

        private int next() throws IOException {
            int read = replies.read();
            if (read < 0)
                throw new EOFException("the server has closed the connection");
            return read;
        }

        private String line() throws IOException {
            StringBuilder made = new StringBuilder();
            for (int read = next(); read != '\r'; read = next())
                made.append((char) read);
            next();
            return made.toString();
        }

        private Object reply() throws IOException {
            String line = line();
            String rest = line.substring(1);
            switch (line.charAt(0)) {
                case '+':
                    return rest;
                case ':':
                    return Long.parseLong(rest);
                case '$':
                    return rest.equals("-1") ? null : line();
                default:
                    throw new IllegalStateException(rest);
            }
        }

        void close() throws IOException {
            if (socket != null)
                socket.close();
            socket = null;
        }
    }

    @Override
    public List<String> promises() {
        return List.of("expiry", "extends", "token", "cancels");
    }

    @Override
    public String library() {
        return "a small lock in Java";
    }

    @Override
    public void init(Settings given) {
        settings = given;
        client = new Client(given.host(0), given.port(0));
    }

    @Override
    public Outcome acquire(long waitMs) throws Exception {
        long end = System.nanoTime() + waitMs * 1_000_000;
        byte[] bytes = new byte[8];
        random.nextBytes(bytes);
        token = HexFormat.of().formatHex(bytes);
        isCancelled = false;
        while (client.ask("SET", settings.key(), token, "NX", "PX", settings.ttlMs()) == null) {
            if (isCancelled || System.nanoTime() >= end)
                return Outcome.of(false);
            Thread.sleep(50);
        }
        if (isCancelled)
            release(); // nobody wants it any more
        return Outcome.of(!isCancelled);
    }

    @Override
    public boolean cancel() {
        isCancelled = true;
        return true;
    }

    @Override
    public Outcome extend() throws Exception {
        return Outcome.of(Long.valueOf(1).equals(client.ask("EVAL", EXTEND, 1, settings.key(), token, settings.ttlMs())));
    }

    @Override
    public Outcome release() throws Exception {
        return Outcome.of(Long.valueOf(1).equals(client.ask("EVAL", RELEASE, 1, settings.key(), token)));
    }

    @Override
    public void close() throws Exception {
        client.close();
    }

    public static void main(String[] words) throws Exception {
        PicklockWorker.run(new SmallLock());
    }
}
