package apply

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParse(t *testing.T) {
	objects, err := Parse([]byte("# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 || objects[0].GetName() != "a" || objects[1].GetName() != "b" {
		t.Errorf("got %v", objects)
	}
	for name, content := range map[string]string{
		"a key twice": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nkind: Secret\n",
		"no name":     "apiVersion: v1\nkind: Namespace\n",
		"not YAML":    "{",
	} {
		if objects, err := Parse([]byte(content)); err == nil {
			t.Errorf("%s: read as %v", name, objects)
		}
	}
}

func TestRetryUntilTheReasonHasPassed(t *testing.T) {
	calls := 0
	err := Retry(t.Context(), func(context.Context) error {
		if calls++; calls < 3 {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "shoots"}, "s", errors.New("project not seen yet"))
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, then %v", calls, err)
	}
}

func TestNoRetryOfWhatStaysWrong(t *testing.T) {
	calls := 0
	err := Retry(t.Context(), func(context.Context) error {
		calls++
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Shoot"}, "s", nil)
	})
	if !apierrors.IsInvalid(err) || calls != 1 {
		t.Errorf("%d calls, then %v", calls, err)
	}
}

func TestRetryTellsTheReasonAndNotTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Retry(ctx, func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cancel()
		return apierrors.NewNotFound(schema.GroupResource{Resource: "shoots"}, "s")
	})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the reason is lost: %v", err)
	}
}
