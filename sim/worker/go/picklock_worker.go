// What a lock program in Go needs to be tested by picklock. One file, and the standard library (Go 1.18 or later).
//
//	type myLock struct{ ... }
//
//	func (l *myLock) Init(s Settings) error              // once, and at each reset; s.Key, s.TTL, s.Servers ..
//	func (l *myLock) Acquire(wait time.Duration) (Outcome, error) // Granted, Refused, or GrantedWith(fence); wait 0: one attempt
//	func (l *myLock) Release() (bool, error)             // false: it was not mine
//
//	func main() { RunWorker(&myLock{}, "my lock 1.0", "expiry") }
//
// Copy it beside them, and build a program; it is named to picklock itself, without a wrapper:
//
//	$ go build -o my_lock . && picklock test --once ./my_lock
//
// An error (and a panic) says that nobody knows whether it has happened. Refused is Refused, and nothing else. It may also have
// Extend() (bool, error), Cancel() bool and Close().
//
// Standard output is picklock's alone: what the library prints goes to standard error. See docs/WORKERS.md of picklock.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// Settings are what init said. Client: 0, 1, ..; Name: "A"; Servers: "127.0.0.1:6379", ..; User, Password: those that a connection may give.
type Settings struct {
	Key       string   `json:"key"`
	TTLMillis int64    `json:"ttl_ms"`
	WorkMs    int64    `json:"work_ms"`
	Client    int      `json:"client"`
	Name      string   `json:"name"`
	Servers   []string `json:"servers"`
	User      string   `json:"user"`
	Password  string   `json:"password"`
}

// TTL is the lease.
func (s Settings) TTL() time.Duration { return time.Duration(s.TTLMillis) * time.Millisecond }

// Outcome is what became of an acquire.
type Outcome struct {
	ok    bool
	fence *int64
}

// Granted: it has the lock. Refused: it is certain that it has not.
var (
	Granted = Outcome{ok: true}
	Refused = Outcome{}
)

// GrantedWith: and this is its fence.
func GrantedWith(fence int64) Outcome { return Outcome{ok: true, fence: &fence} }

// Worker is the lock of one client.
type Worker interface {
	Init(settings Settings) error
	Acquire(wait time.Duration) (Outcome, error)
	Release() (bool, error)
}

type extender interface{ Extend() (bool, error) }

// The Acquire that goes on is to end soon (promise it with "cancels"). True: it will. In a goroutine of its own.
type canceller interface{ Cancel() bool }

// Before a reset: lets go of connections, goroutines, timers. Nothing of the attempt before may go on.
type closer interface{ Close() }

type workerRequest struct {
	Settings
	Op     string `json:"op"`
	ID     int64  `json:"id"`
	WaitMs int64  `json:"wait_ms"`
}

type protocolChannel struct {
	in, out *os.File
	saying  sync.Mutex
	begun   time.Time
}

var protocol = takeStreams()

// Before anything of the library prints: whoever else writes to standard output writes to standard error, and reads nothing.
func takeStreams() *protocolChannel {
	var ends [2]int
	for i := range ends {
		copied, err := syscall.Dup(i)
		if err != nil {
			panic(err)
		}
		syscall.CloseOnExec(copied)
		ends[i] = copied
	}
	if null, err := os.Open(os.DevNull); err == nil {
		_ = syscall.Dup3(int(null.Fd()), 0, 0)
		_ = null.Close()
	}
	if err := syscall.Dup3(2, 1, 0); err != nil {
		panic(err)
	}
	_ = syscall.SetNonblock(ends[0], true) // it is waited for as connections are, and by no thread of its own
	return &protocolChannel{in: os.NewFile(uintptr(ends[0]), "requests"), out: os.NewFile(uintptr(ends[1]), "answers"), begun: time.Now()}
}

func (c *protocolChannel) say(answer map[string]any) {
	line, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	c.saying.Lock()
	defer c.saying.Unlock()
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		os.Exit(1)
	}
}

// Lost says that the library knows that the lock is gone (promise it with "notice").
func Lost() { protocol.say(map[string]any{"event": "lost"}) }

// RunWorker serves until picklock closes standard input; then the program may end.
func RunWorker(worker Worker, library string, promises ...string) {
	var settings Settings
	next := readRequest(bufio.NewReader(protocol.in))
	if lock, can := worker.(canceller); can {
		next = readAhead(lock, next)
	}
	for {
		request, is := next()
		if !is {
			return
		}
		if request.Op == "init" {
			settings = request.Settings
		}
		answer := map[string]any{}
		if request.Op == "init" || request.Op == "reset" {
			begin(worker, request.Op, settings)
			answer["ready"], answer["promises"], answer["library"] = true, promises, library
		} else if err := perform(worker, request, answer); err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		answer["id"] = request.ID
		protocol.say(answer)
	}
}

// The next request; false: there is none any more.
type requestReader func() (workerRequest, bool)

func readRequest(lines *bufio.Reader) requestReader {
	return func() (request workerRequest, is bool) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return request, false
		}
		if err := json.Unmarshal(line, &request); err != nil {
			panic(err)
		}
		return request, true
	}
}

// Requests, read by a goroutine of their own, which performs those that cancel what goes on.
func readAhead(lock canceller, next requestReader) requestReader {
	waiting := make(chan workerRequest, 16)
	go func() {
		for request, is := next(); is; request, is = next() {
			if request.Op == "cancel" {
				protocol.say(map[string]any{"id": request.ID, "ok": lock.Cancel()})
			} else {
				waiting <- request
			}
		}
		close(waiting)
	}()
	return func() (workerRequest, bool) {
		request, is := <-waiting
		return request, is
	}
}

func begin(worker Worker, op string, settings Settings) {
	if lock, can := worker.(closer); can && op == "reset" {
		lock.Close()
	}
	if err := worker.Init(settings); err != nil {
		panic(err)
	}
}

// What a library panics with is its error, and no end of the worker.
func perform(worker Worker, request workerRequest, answer map[string]any) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	switch request.Op {
	case "time":
		now := time.Now()
		answer["monotonic_us"], answer["wall_us"] = now.Sub(protocol.begun).Microseconds(), now.UnixMicro()
	case "acquire":
		outcome, err := worker.Acquire(time.Duration(request.WaitMs) * time.Millisecond)
		if answer["ok"] = outcome.ok; outcome.fence != nil {
			answer["fence"] = *outcome.fence
		}
		return err
	case "extend":
		lock, can := worker.(extender)
		if !can {
			return fmt.Errorf("it has no Extend()")
		}
		answer["ok"], err = lock.Extend()
	case "release":
		answer["ok"], err = worker.Release()
	case "cancel":
		answer["ok"] = false
	default:
		return fmt.Errorf("unknown op %q", request.Op)
	}
	return err
}
