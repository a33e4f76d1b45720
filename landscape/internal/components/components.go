// Package components holds the servers that a landscape is made of, as they are released: each function runs one of them in
// this process and ends the process with its exit code.
//
// One process runs one component. kube-apiserver and gardener-apiserver register flags, metrics and feature gates in the same
// global tables, so two of them in one process would change each other.
package components

import (
	"os"
	_ "time/tzdata" // maintenance windows and CronJobs name time zones; the host may have no zone files

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// Run is the entry point of one component. It reads os.Args and does not return to a caller that has anything left to do.
type Run func()

// All maps the name of a component, which is also the subcommand and the argv[0] it answers to, to its entry point.
var All = map[string]Run{
	"etcd":                    etcd,
	"kube-apiserver":          kubeAPIServer,
	"kube-controller-manager": kubeControllerManager,
	"gardener-apiserver":      gardenerAPIServer,
	"kubectl":                 kubectl,
}

func etcd() {
	etcdmain.Main(os.Args)
}

func kubeAPIServer() {
	os.Exit(cli.Run(kubeapiserver.NewAPIServerCommand()))
}

func kubeControllerManager() {
	os.Exit(cli.Run(kubecontrollermanager.NewControllerManagerCommand()))
}

func kubectl() {
	// Read before the command is built, so that building it (plugins, .kuberc) already logs at the level asked for.
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
