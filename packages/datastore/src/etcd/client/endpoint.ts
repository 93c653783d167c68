/** One member of an etcd cluster. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

const DEFAULT_PORT = 2379;

/** Reads `http://HOST:PORT`, `https://HOST:PORT`, `HOST:PORT`; the port may be left out. Undefined for anything else. */
export function readEndpoint(text: string, isSecureByDefault: boolean): Endpoint | undefined {
  const scheme = /^([a-z]+):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") return undefined;
  const rest = scheme === undefined ? text : text.slice(scheme.length + "://".length);
  // A scheme whose own port nobody uses here: else ":80" and no port would look the same.
  const url = /^[^\s/?#@]+\/?$/.test(rest) && URL.canParse(`etcd://${rest}`) ? new URL(`etcd://${rest}`) : undefined;
  if (url === undefined || url.hostname === "") return undefined;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    isSecure: scheme === undefined ? isSecureByDefault : scheme === "https",
  };
}

/** `https://HOST:PORT`. */
export function formatEndpoint({ host, port, isSecure }: Endpoint): string {
  return `${isSecure ? "https" : "http"}://${hostAndPort({ host, port })}`;
}

/** `HOST:PORT`, an IPv6 address in brackets. */
export function hostAndPort({ host, port }: Pick<Endpoint, "host" | "port">): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}
