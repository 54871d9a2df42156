"""Scenarios that are expected to fail on Kubernetes' own control plane though they hold on local mode, and why."""

from __future__ import annotations

ON_KUBERNETES = {
    "test_top_shows_what_runs_and_where": "metrics.k8s.io is served by an add-on that is not there",
    "test_a_service_leads_to_its_pods": "pods here have loopback addresses, which Kubernetes refuses in endpoints",
    "test_a_json_patch_whose_test_fails_says_which": "Kubernetes only says that something is wrong with the request",
}
