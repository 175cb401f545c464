package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const timeout = 30 * time.Second

// newGRPCCaller has a connection of its own.
func newGRPCCaller(at, method string, request []byte) (caller, error) {
	connection, err := grpc.NewClient(
		"passthrough:///"+at,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})),
	)
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		var answer []byte
		err := connection.Invoke(ctx, method, &request, &answer)
		return len(answer), err
	}, nil
}

// newHTTPCaller has a connection of its own, which it keeps.
func newHTTPCaller(at, path string) (caller, error) {
	client := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true},
		Timeout:   timeout,
	}
	url := "http://" + at + path
	return func() (int, error) {
		response, err := client.Get(url)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		size, err := io.Copy(io.Discard, response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", url, response.Status)
		}
		return int(size), err
	}, nil
}
