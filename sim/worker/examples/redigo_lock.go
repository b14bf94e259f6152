// A small lock of our own over redigo (Debian: golang-github-gomodule-redigo-dev): SET NX PX with a random token, released and
// extended by scripts that compare.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

var (
	release = redis.NewScript(1, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")
	extend  = redis.NewScript(1, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0")
)

type redigoLock struct {
	settings Settings
	pool     *redis.Pool
	token    string
	unwanted int32 // the acquire that goes on is cancelled
}

func (l *redigoLock) Init(settings Settings) error {
	l.settings = settings
	l.pool = &redis.Pool{MaxIdle: 1, MaxActive: 1, Wait: true, Dial: func() (redis.Conn, error) {
		return redis.Dial("tcp", settings.Servers[0])
	}}
	return nil
}

func (l *redigoLock) Acquire(wait time.Duration) (Outcome, error) {
	conn := l.pool.Get()
	defer conn.Close()
	var bytes [8]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		return Refused, err
	}
	l.token = hex.EncodeToString(bytes[:])
	atomic.StoreInt32(&l.unwanted, 0)
	for end := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
		_, err := redis.String(conn.Do("SET", l.settings.Key, l.token, "NX", "PX", l.settings.TTLMillis))
		if err == nil {
			return l.granted(conn)
		}
		if err != redis.ErrNil {
			return Refused, err
		}
		if atomic.LoadInt32(&l.unwanted) != 0 || !time.Now().Before(end) {
			return Refused, nil
		}
	}
}

func (l *redigoLock) granted(conn redis.Conn) (Outcome, error) {
	if atomic.LoadInt32(&l.unwanted) == 0 {
		return Granted, nil
	}
	_, err := release.Do(conn, l.settings.Key, l.token)
	return Refused, err
}

func (l *redigoLock) Cancel() bool {
	atomic.StoreInt32(&l.unwanted, 1)
	return true
}

// Our token's script; false: it was somebody else's.
func (l *redigoLock) compare(script *redis.Script, words ...any) (bool, error) {
	conn := l.pool.Get()
	defer conn.Close()
	changed, err := redis.Int(script.Do(conn, append([]any{l.settings.Key, l.token}, words...)...))
	return changed == 1, err
}

func (l *redigoLock) Extend() (bool, error)  { return l.compare(extend, l.settings.TTLMillis) }
func (l *redigoLock) Release() (bool, error) { return l.compare(release) }
func (l *redigoLock) Close()                 { _ = l.pool.Close() }

func main() { RunWorker(&redigoLock{}, "a small lock over redigo", "expiry", "extends", "token", "cancels") }
