// Prints the wire facts of Kubernetes' API types: src/volcano/local/apiserver/wire/protobuf.table.
//
// One line per kind ("apiVersion kind message") and per message ("message number:json:type …").
// Types: string int bool bytes double quantity time microtime intorstring raw strings duration, or a message.
// Prefixes: * pointer and ! written even when zero (both keep zero values), [] list, {} map, ~ inlined into its parent.
// Messages whose fields have no names are choices: in JSON, one of the fields stands for the message.
//
//	cd tools/protobuf && go run . > ../../src/volcano/local/apiserver/wire/protobuf.table
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "quantity",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   "raw",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    "raw",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intorstring",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "raw",
	"k8s.io/api/authentication/v1.ExtraValue":         "strings",
	"k8s.io/api/authorization/v1.ExtraValue":          "strings",
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme,
		authorizationv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme,
		resourcev1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	messages := map[reflect.Type]bool{}
	options := reflect.TypeFor[metav1.DeleteOptions]()
	collect(options, messages)
	lines := []string{"* DeleteOptions " + name(options)}
	for kind, object := range scheme.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || !sent(kind.Kind) {
			continue
		}
		collect(object, messages)
		lines = append(lines, fmt.Sprintf("%s %s %s", kind.GroupVersion(), kind.Kind, name(object)))
	}
	sort.Strings(lines)
	facts := []string{}
	for message := range messages {
		facts = append(facts, line(message))
	}
	sort.Strings(facts)
	fmt.Println(strings.Join(lines, "\n"))
	fmt.Println()
	fmt.Println(strings.Join(facts, "\n"))
}

// sent tells whether clients send a kind as a request body in the group that declares it.
func sent(kind string) bool {
	for _, suffix := range []string{"List", "Options", "WatchEvent", "APIGroup", "APIVersions", "RangeAllocation"} {
		if strings.HasSuffix(kind, suffix) {
			return false
		}
	}
	return true
}

func name(message reflect.Type) string {
	parts := strings.Split(message.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], ".") + "." + message.Name()
}

func onWire(field reflect.StructField) bool {
	tag := field.Tag.Get("protobuf")
	return tag != "" && tag != "-"
}

func collect(message reflect.Type, seen map[reflect.Type]bool) {
	if seen[message] {
		return
	}
	seen[message] = true
	for i := range message.NumField() {
		field := message.Field(i)
		if !onWire(field) {
			continue
		}
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			if special[inner.PkgPath()+"."+inner.Name()] != "" {
				break
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && special[inner.PkgPath()+"."+inner.Name()] == "" {
			collect(inner, seen)
		}
	}
}

func line(message reflect.Type) string {
	words := []string{name(message)}
	for i := range message.NumField() {
		field := message.Field(i)
		if !onWire(field) {
			continue
		}
		number := strings.Split(field.Tag.Get("protobuf"), ",")[1]
		json, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := kindOf(field.Type)
		if strings.Contains(options, "inline") {
			json, kind = "", "~"+kind
		} else if !strings.Contains(options, "omit") {
			kind = "!" + kind
		}
		words = append(words, number+":"+json+":"+kind)
	}
	return strings.Join(words, " ")
}

func kindOf(t reflect.Type) string {
	if word := special[t.PkgPath()+"."+t.Name()]; word != "" {
		return word
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + kindOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + kindOf(t.Elem())
	case reflect.Map:
		return "{}" + kindOf(t.Elem())
	case reflect.Struct:
		return name(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "double"
	}
	panic("no wire form known for " + t.String())
}
