// Fills client-go's informers with all pods and nodes, says on stdout how long that took, and
// stays until its stdin ends, so that whoever started it can read its memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path")
	stripped := flag.Bool("strip", false, "keep only the fields that gpupods uses")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	nodes := factory.Core().V1().Nodes().Informer()
	if *stripped {
		must(pods.SetTransform(stripPod))
		must(nodes.SetTransform(stripNode))
	}

	started := time.Now()
	ctx := context.Background()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, nodes.HasSynced) {
		log.Fatal("not synced")
	}
	took := time.Since(started).Seconds()
	// What the list left behind is garbage: memory is to be what the informers need.
	debug.FreeOSMemory()
	fmt.Printf("{\"synced_s\": %f, \"pods\": %d, \"nodes\": %d}\n",
		took, len(pods.GetStore().ListKeys()), len(nodes.GetStore().ListKeys()))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: stripMeta(pod.ObjectMeta),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{
			Phase:                      pod.Status.Phase,
			InitContainerStatuses:      stripStatuses(pod.Status.InitContainerStatuses),
			ContainerStatuses:          stripStatuses(pod.Status.ContainerStatuses),
			EphemeralContainerStatuses: stripStatuses(pod.Status.EphemeralContainerStatuses),
		},
	}, nil
}

func stripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: stripMeta(node.ObjectMeta),
		Status:     corev1.NodeStatus{Addresses: node.Status.Addresses},
	}, nil
}

func stripMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		UID:             meta.UID,
		Namespace:       meta.Namespace,
		Name:            meta.Name,
		ResourceVersion: meta.ResourceVersion,
		OwnerReferences: meta.OwnerReferences,
	}
}

func stripStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	kept := make([]corev1.ContainerStatus, 0, len(statuses))
	for _, status := range statuses {
		kept = append(kept, corev1.ContainerStatus{
			Name:                 status.Name,
			ContainerID:          status.ContainerID,
			LastTerminationState: status.LastTerminationState,
		})
	}
	return kept
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
