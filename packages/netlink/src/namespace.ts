/** A network namespace: the path of its file ("/run/netns/x", "/proc/1/ns/net") or an open file descriptor of it. */
export type NamespaceRef = string | number;
