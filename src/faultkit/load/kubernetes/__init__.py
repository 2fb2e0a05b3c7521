"""Pods of a Kubernetes cluster, for the place `kubernetes:N` (`faultkit.load.kubernetes_place`).

manifests      pure: the Job of a load, and the rights that the coordinator needs
pod_settings   the file that says how the pods are made
pod_states     pure: what the status of a pod means
cluster_api    calls of the API server, and its refusals as errors for a user
pod_stream     the connection to the standard streams of a pod
"""
