// The lock that many write first: it is released with a plain DEL, whoever has it by then. Over a connection, and nothing else.
package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

type naiveLock struct {
	settings Settings
	conn     net.Conn
	replies  *bufio.Reader
}

func (l *naiveLock) Init(settings Settings) error {
	l.settings = settings
	return nil
}

func (l *naiveLock) ask(words ...any) (string, error) {
	if l.conn == nil {
		conn, err := net.Dial("tcp", l.settings.Servers[0])
		if err != nil {
			return "", err
		}
		l.conn, l.replies = conn, bufio.NewReader(conn)
	}
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text := fmt.Sprint(word)
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	_, err := l.conn.Write([]byte(request))
	line := ""
	if err == nil {
		line, err = l.replies.ReadString('\n')
	}
	if err != nil {
		l.Close()
	}
	return strings.TrimSpace(line), err
}

func (l *naiveLock) Acquire(wait time.Duration) (Outcome, error) {
	for end := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
		reply, err := l.ask("SET", l.settings.Key, l.settings.Name, "NX", "PX", l.settings.TTLMillis)
		if err != nil {
			return Refused, err
		}
		if reply == "+OK" {
			return Granted, nil
		}
		if !time.Now().Before(end) {
			return Refused, nil
		}
	}
}

func (l *naiveLock) Release() (bool, error) {
	reply, err := l.ask("DEL", l.settings.Key)
	return reply == ":1", err
}

func (l *naiveLock) Close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn = nil
}

func main() { RunWorker(&naiveLock{}, "a plain DEL, in Go", "expiry") }
