const SECRET_NAME = /passw(or)?d|secret|token|credential|private_?key$|api_?key$|^authorization$|bearer|psk$/i;

/** What stands in a log where a secret was. */
export const REDACTED = "(redacted)";

/** True for names whose values must not reach a log. Paths of key files are no secrets. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !/(file|path)$/i.test(name);
}
