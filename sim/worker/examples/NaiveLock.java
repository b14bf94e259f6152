/* The lock that many write first: it is released with a plain DEL, whoever has it by then. Over a socket, and nothing else. */

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

public class NaiveLock implements PicklockWorker {
    private Settings settings;
    private Socket socket;
    private BufferedReader replies;

    /* Every reply to these commands is one line. */
    private String ask(Object... words) throws IOException {
        if (socket == null) {
            socket = new Socket(settings.host(0), settings.port(0));
            socket.setTcpNoDelay(true);
            replies = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }
        StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
        for (Object word : words)
            request.append('$').append(word.toString().length()).append("\r\n").append(word).append("\r\n");
        try {
            socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
            String reply = replies.readLine();
            if (reply == null)
                throw new EOFException("the server has closed the connection");
            return reply;
        } catch (IOException error) {
            close();
            throw error;
        }
    }

    @Override
    public String library() {
        return "a plain DEL, in Java";
    }

    @Override
    public void init(Settings given) {
        settings = given;
    }

    @Override
    public Outcome acquire(long waitMs) throws Exception {
        return Outcome.of(ask("SET", settings.key(), settings.name(), "NX", "PX", settings.ttlMs()).equals("+OK"));
    }

    @Override
    public Outcome release() throws Exception {
        return Outcome.of(ask("DEL", settings.key()).equals(":1"));
    }

    @Override
    public void close() throws IOException {
        if (socket != null)
            socket.close();
        socket = null;
    }

    public static void main(String[] words) throws Exception {
        PicklockWorker.run(new NaiveLock());
    }
}
