// Command load asks a server for a while, over many connections, and tells how long each answer
// took; or is a server that answers every gRPC call at once with the same bytes.
//
// It stands beside what is measured, on another core, so it does as little as can be done:
// messages are bytes to it, never decoded.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

func main() {
	serve := flag.Bool("serve", false, "answer instead of asking")
	at := flag.String("at", "127.0.0.1:0", "HOST:PORT to listen at, or to ask")
	method := flag.String("method", "", "gRPC method, /package.Service/Method")
	path := flag.String("path", "", "path and query of an HTTP GET, instead of a gRPC method")
	message := flag.String("message", "", "file with the bytes of the answer, or of the gRPC request")
	callers := flag.Int("callers", 16, "connections, each of which waits for its answer")
	lasts := flag.Duration("for", 5*time.Second, "how long")
	flag.Parse()
	if err := run(*serve, *at, *method, *path, *message, *callers, *lasts); err != nil {
		log.Fatal(err)
	}
}

func run(serve bool, at, method, path, message string, callers int, lasts time.Duration) error {
	var body []byte
	if message != "" {
		var err error
		if body, err = os.ReadFile(message); err != nil {
			return err
		}
	}
	if serve {
		return answer(at, body)
	}
	result := ask(callers, lasts, func() (caller, error) {
		if path != "" {
			return newHTTPCaller(at, path)
		}
		return newGRPCCaller(at, method, body)
	})
	return json.NewEncoder(os.Stdout).Encode(result)
}

// caller asks once and gives the size of the answer.
type caller func() (int, error)

// Result is what is printed: times in microseconds, ascending, and the first error if any.
type Result struct {
	Seconds float64 `json:"seconds"`
	Micros  []int64 `json:"micros"`
	Bytes   int     `json:"bytes"`
	Errors  int     `json:"errors"`
	Error   string  `json:"error"`
}

// ask lets every caller ask again as soon as it has its answer.
func ask(callers int, lasts time.Duration, connect func() (caller, error)) Result {
	var result Result
	var lock sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for range callers {
		group.Go(func() {
			micros, bytes, err := askUntil(began.Add(lasts), connect)
			lock.Lock()
			defer lock.Unlock()
			result.Micros = append(result.Micros, micros...)
			result.Bytes = max(result.Bytes, bytes)
			if err != nil {
				result.Errors++
				result.Error = err.Error()
			}
		})
	}
	group.Wait()
	result.Seconds = time.Since(began).Seconds()
	slices.Sort(result.Micros)
	return result
}

func askUntil(end time.Time, connect func() (caller, error)) (micros []int64, bytes int, err error) {
	once, err := connect()
	if err != nil {
		return nil, 0, err
	}
	for time.Now().Before(end) {
		began := time.Now()
		if bytes, err = once(); err != nil {
			return micros, bytes, err
		}
		micros = append(micros, time.Since(began).Microseconds())
	}
	return micros, bytes, nil
}

// raw is a codec that leaves messages as they are.
type raw struct{}

var _ encoding.Codec = raw{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (raw) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = data
	return nil
}

// answer prints where it listens as the only line on stdout, then serves until it is killed.
func answer(at string, body []byte) error {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := grpc.NewServer(
		grpc.ForceServerCodec(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return stream.SendMsg(&body)
		}),
	)
	return server.Serve(listener)
}
