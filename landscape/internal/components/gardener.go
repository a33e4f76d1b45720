package components

import (
	"os"

	gardenerapiserver "github.com/gardener/gardener/cmd/gardener-apiserver/app"
	gardenerutils "github.com/gardener/gardener/cmd/utils"
	gardenerfeatures "github.com/gardener/gardener/pkg/apiserver/features"
	gardenerplugin "github.com/gardener/gardener/plugin/pkg"
	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
)

func gardenerAPIServer() {
	gardenerutils.DeduplicateWarnings()
	// Must come before the command is built: without it the server looks healthy and panics on the first write of a Shoot.
	gardenerfeatures.RegisterFeatureGates()
	if err := gardenerCommand().ExecuteContext(signals.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

// gardenerCommand is what gardener's own NewCommand returns, but for quickReferences. It is put together here because NewCommand
// keeps the options to itself.
func gardenerCommand() *cobra.Command {
	options := gardenerapiserver.NewOptions()
	quick := admission.DecoratorFunc(func(plugin admission.Interface, name string) admission.Interface {
		return quickReferences(plugin, name, options.Recommended.CoreAPI.CoreAPIKubeconfigPath)
	})
	// In front: the decorators behind it hide the plugin's own type.
	options.Recommended.Admission.Decorators = append(admission.Decorators{quick}, options.Recommended.Admission.Decorators...)
	command := &cobra.Command{
		Use:          "gardener-apiserver",
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			verflag.PrintAndExitIfRequested()
			if err := options.Validate(); err != nil {
				return err
			}
			return options.Run(command.Context())
		},
	}
	verflag.AddFlags(command.Flags())
	options.AddFlags(command.Flags())
	return command
}

// quickReferences gives the plugin that checks references a client without a rate limit. For every CredentialsBinding it reads
// the Secret and tries to create a copy, through a client that is limited to five requests a second and has no flag for it: a
// pool of 24 accounts would take eight seconds to load. What the plugin checks stays the same.
func quickReferences(plugin admission.Interface, name, kubeconfig string) admission.Interface {
	references, fits := plugin.(interface{ SetKubeClientset(kubernetes.Interface) })
	if name != gardenerplugin.PluginNameResourceReferenceManager || !fits {
		return plugin
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		klog.ErrorS(err, "CredentialsBindings stay slow to create: cannot read kubeconfig")
		return plugin
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		klog.ErrorS(err, "CredentialsBindings stay slow to create: cannot make a client")
		return plugin
	}
	references.SetKubeClientset(client)
	return plugin
}
