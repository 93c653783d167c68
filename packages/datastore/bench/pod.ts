import { type Place, stamp, uid } from "./place.ts";

/** Octets of the `n`th pod address. */
function address(n: number): string {
  return `10.${64 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
}

function hex(n: number, length: number): string {
  let text = "";
  for (let x = (n * 2654435761) >>> 0; text.length < length; x = (x * 1664525 + 1013904223) >>> 0)
    text += x.toString(16).padStart(8, "0");
  return text.slice(0, length);
}

/**
 * A running pod of a Deployment as an API server lists it: two containers, the projected token volume, the annotations
 * of the CNI plugin, the fields that each manager owns. About 7,000 bytes of JSON, a third of them managed fields.
 */
export function pod(n: number, place: Place): object {
  const { namespace, app, appNumber, node, revision } = place;
  const template = hex(appNumber, 10);
  const name = `${app}-${template}-${hex(n, 5)}`;
  const ip = address(n);
  const hostIP = `192.168.${place.nodeNumber >> 8}.${place.nodeNumber & 255}`;
  const time = stamp(n);
  const volume = `kube-api-access-${hex(n + 7, 5)}`;
  return {
    metadata: {
      name,
      generateName: `${app}-${template}-`,
      namespace,
      uid: uid(n),
      resourceVersion: String(revision),
      generation: 1,
      creationTimestamp: time,
      labels: {
        app,
        "app.kubernetes.io/component": ["web", "api", "worker", "cache"][appNumber % 4],
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/part-of": namespace,
        "pod-template-hash": template,
        tier: appNumber % 3 === 0 ? "backend" : "frontend",
        version: `v${appNumber % 5}`,
        // One app in ten is a StatefulSet, whose pods differ in a label.
        ...(appNumber % 10 === 0 && { "statefulset.kubernetes.io/pod-name": name }),
      },
      annotations: {
        "cni.projectcalico.org/containerID": hex(n, 64),
        "cni.projectcalico.org/podIP": `${ip}/32`,
        "cni.projectcalico.org/podIPs": `${ip}/32`,
        "prometheus.io/port": "9090",
        "prometheus.io/scrape": "true",
      },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: `${app}-${template}`,
          uid: uid(appNumber + 1e6),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: managedFields(uid(appNumber + 1e6), ip, time),
    },
    spec: {
      volumes: [
        {
          name: volume,
          projected: {
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              {
                downwardAPI: {
                  items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
                },
              },
            ],
            defaultMode: 420,
          },
        },
      ],
      containers: [
        {
          ...container(app, `registry.example.com/shop/${app}:1.${appNumber % 5}.0`, volume),
          ports: [
            { name: "http", containerPort: 8080, protocol: "TCP" },
            { name: "metrics", containerPort: 9090, protocol: "TCP" },
          ],
          env: [
            { name: "LOG_LEVEL", value: "info" },
            { name: "POD_IP", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "status.podIP" } } },
          ],
          readinessProbe: {
            httpGet: { path: "/healthz", port: "http", scheme: "HTTP" },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
        },
        container("log-shipper", "registry.example.com/platform/log-shipper:2.4.1", volume),
      ],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      serviceAccountName: "default",
      serviceAccount: "default",
      nodeName: node,
      securityContext: {},
      schedulerName: "default-scheduler",
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
        { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
      ],
      priority: 0,
      enableServiceLinks: true,
      preemptionPolicy: "PreemptLowerPriority",
    },
    status: {
      phase: "Running",
      conditions: ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
        (type) => ({
          type,
          status: "True",
          lastProbeTime: null,
          lastTransitionTime: time,
        }),
      ),
      hostIP,
      hostIPs: [{ ip: hostIP }],
      podIP: ip,
      podIPs: [{ ip }],
      startTime: time,
      containerStatuses: [
        containerStatus(app, `registry.example.com/shop/${app}:1.${appNumber % 5}.0`, n, time),
        containerStatus("log-shipper", "registry.example.com/platform/log-shipper:2.4.1", n + 1, time),
      ],
      qosClass: "Burstable",
    },
  };
}

function container(name: string, image: string, volume: string): object {
  return {
    name,
    image,
    resources: { limits: { memory: "256Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
    volumeMounts: [{ name: volume, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }],
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  };
}

function containerStatus(name: string, image: string, n: number, time: string): object {
  return {
    name,
    state: { running: { startedAt: time } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image,
    imageID: `${image.split(":")[0]}@sha256:${hex(n % 100, 64)}`,
    containerID: `containerd://${hex(n + 3, 64)}`,
    started: true,
  };
}

/** What the controller manager, the CNI plugin and the kubelet say that they own. */
function managedFields(owner: string, ip: string, time: string): object[] {
  const condition = (type: string): object => ({
    [`k:{"type":"${type}"}`]: {
      ".": {},
      "f:lastProbeTime": {},
      "f:lastTransitionTime": {},
      "f:status": {},
      "f:type": {},
    },
  });
  const containerFields = {
    ".": {},
    "f:image": {},
    "f:imagePullPolicy": {},
    "f:name": {},
    "f:resources": {
      ".": {},
      "f:limits": { ".": {}, "f:memory": {} },
      "f:requests": { ".": {}, "f:cpu": {}, "f:memory": {} },
    },
    "f:terminationMessagePath": {},
    "f:terminationMessagePolicy": {},
  };
  return [
    {
      manager: "kube-controller-manager",
      operation: "Update",
      apiVersion: "v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:metadata": {
          "f:annotations": { ".": {}, "f:prometheus.io/port": {}, "f:prometheus.io/scrape": {} },
          "f:generateName": {},
          "f:labels": {
            ".": {},
            "f:app": {},
            "f:app.kubernetes.io/component": {},
            "f:app.kubernetes.io/name": {},
            "f:app.kubernetes.io/part-of": {},
            "f:pod-template-hash": {},
            "f:tier": {},
            "f:version": {},
          },
          "f:ownerReferences": { ".": {}, [`k:{"uid":"${owner}"}`]: {} },
        },
        "f:spec": {
          "f:containers": { 'k:{"name":"app"}': containerFields, 'k:{"name":"log-shipper"}': containerFields },
          "f:dnsPolicy": {},
          "f:enableServiceLinks": {},
          "f:restartPolicy": {},
          "f:schedulerName": {},
          "f:securityContext": {},
          "f:terminationGracePeriodSeconds": {},
        },
      },
    },
    {
      manager: "calico",
      operation: "Update",
      apiVersion: "v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:metadata": {
          "f:annotations": {
            "f:cni.projectcalico.org/containerID": {},
            "f:cni.projectcalico.org/podIP": {},
            "f:cni.projectcalico.org/podIPs": {},
          },
        },
      },
      subresource: "status",
    },
    {
      manager: "kubelet",
      operation: "Update",
      apiVersion: "v1",
      time,
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:status": {
          "f:conditions": {
            ...condition("ContainersReady"),
            ...condition("Initialized"),
            ...condition("PodReadyToStartContainers"),
            ...condition("Ready"),
          },
          "f:containerStatuses": {},
          "f:hostIP": {},
          "f:hostIPs": {},
          "f:phase": {},
          "f:podIP": {},
          "f:podIPs": { ".": {}, [`k:{"ip":"${ip}"}`]: { ".": {}, "f:ip": {} } },
          "f:startTime": {},
        },
      },
      subresource: "status",
    },
  ];
}
