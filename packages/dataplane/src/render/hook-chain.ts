/** The base chain of a hook, without the layer. */
export const HOOK_CHAIN = {
  prerouting: "PREROUTING",
  input: "INPUT",
  forward: "FORWARD",
  output: "OUTPUT",
  postrouting: "POSTROUTING",
} as const;
