/**
 * True for the variables that Kubernetes puts into every container for each Service of the namespace:
 * `<NAME>_SERVICE_HOST`, `<NAME>_SERVICE_PORT[_<PORT>]`, `<NAME>_PORT` and `<NAME>_PORT_<n>_<PROTO>[_PORT|_PROTO|_ADDR]`.
 * `rest` is the variable's name after our prefix: for a Service "typha" it starts where the Service's name ends.
 * The value is looked at too, so that a mistyped `TYPHA_SERVER_PORT=5473` still gets its warning.
 */
export function isServiceLink(rest: string, value: string): boolean {
  const name = rest.toUpperCase();
  if (/(^|_)SERVICE_HOST$/.test(name)) return true;
  if (/(^|_)SERVICE_PORT(_[A-Z0-9_]+)?$/.test(name)) return /^\d+$/.test(value);
  if (/(^|_)PORT_\d+_(TCP|UDP|SCTP)(_(PORT|PROTO|ADDR))?$/.test(name)) return true;
  return /(^|_)PORT$/.test(name) && /^(tcp|udp|sctp):\/\//i.test(value);
}
