// One process with redsync, with its default settings, on the port that the first argument names. It takes the request
// `contend` of messages.ts. Where redsync gives up, after 32 attempts by default, it is called again.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type request struct {
	ID         int     `json:"id"`
	Request    string  `json:"request"`
	Name       string  `json:"name"`
	DurationMs float64 `json:"durationMs"`
	SectionMs  float64 `json:"sectionMs"`
	PauseMs    float64 `json:"pauseMs"`
	Journal    string  `json:"journal"`
	Who        string  `json:"who"`
}

type answer struct {
	ID      int       `json:"id"`
	Turns   int       `json:"turns"`
	WaitsMs []float64 `json:"waitsMs"`
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	locks := redsync.New(goredis.NewPool(client))
	output := json.NewEncoder(os.Stdout)
	say(output, map[string]bool{"ready": true})
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var asked request
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			panic(err)
		}
		waits, err := contend(locks, asked)
		if err != nil {
			say(output, map[string]any{"id": asked.ID, "error": err.Error()})
			continue
		}
		say(output, answer{asked.ID, len(waits), waits})
	}
}

func contend(locks *redsync.Redsync, asked request) ([]float64, error) {
	if asked.Request != "contend" {
		return nil, fmt.Errorf("unknown request %s", asked.Request)
	}
	journal, err := os.OpenFile(asked.Journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	waits := []float64{}
	for end := time.Now().Add(ms(asked.DurationMs)); time.Now().Before(end); {
		mutex := locks.NewMutex(asked.Name)
		from := time.Now()
		for mutex.Lock() != nil {
			if time.Now().After(end) {
				return waits, nil
			}
		}
		waits = append(waits, float64(time.Since(from).Microseconds())/1000)
		fmt.Fprintf(journal, "enter %s %d 0\n", asked.Who, time.Now().UnixMilli())
		time.Sleep(ms(asked.SectionMs))
		fmt.Fprintf(journal, "leave %s %d 0\n", asked.Who, time.Now().UnixMilli())
		if _, err := mutex.Unlock(); err != nil {
			return nil, err
		}
		time.Sleep(ms(asked.PauseMs))
	}
	return waits, nil
}

func ms(count float64) time.Duration {
	return time.Duration(count * float64(time.Millisecond))
}

func say(output *json.Encoder, line any) {
	if err := output.Encode(line); err != nil {
		panic(err)
	}
}
