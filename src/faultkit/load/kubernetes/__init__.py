"""Workers in the pods of a Kubernetes cluster: the place `kubernetes:N`.

manifests      pure: the Job of a load, and the rights that the coordinator needs
pod_settings   the file that says how the pods are made
pod_states     pure: what the status of a pod means
"""
