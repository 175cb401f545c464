// Command gateway is the real grpc-gateway in front of a gRPC server, with nothing configured:
// what the controller's own HTTP side is compared with.
//
// It serves GpuPodsService, and a service of the tests that has a field of every kind. The
// packages under gen/ are made from the protos when this is built, see build.py.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	// Error details of these types are known, as they are to the controller.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"gpupods.test/realparts/gateway/gen/gpupodspb"
	"gpupods.test/realparts/gateway/gen/kindspb"
)

const maxMessageBytes = 64 << 20

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "HOST:PORT to serve HTTP at")
	endpoint := flag.String("endpoint", "", "HOST:PORT of the gRPC server")
	flag.Parse()
	if err := serve(*listen, *endpoint); err != nil {
		log.Fatal(err)
	}
}

// serve prints where it listens as the only line on stdout, then serves until it is killed.
func serve(listen, endpoint string) error {
	mux, err := gateway(endpoint)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, mux)
}

func gateway(endpoint string) (*runtime.ServeMux, error) {
	connection, err := grpc.NewClient(
		endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
	)
	if err != nil {
		return nil, err
	}
	mux := runtime.NewServeMux()
	ctx := context.Background()
	if err := gpupodspb.RegisterGpuPodsServiceHandler(ctx, mux, connection); err != nil {
		return nil, err
	}
	if err := kindspb.RegisterKindsServiceHandler(ctx, mux, connection); err != nil {
		return nil, err
	}
	return mux, nil
}
