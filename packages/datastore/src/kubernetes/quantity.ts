const SUFFIXES: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity (`10M`, `8Gi`, `1e3`) as a number, rounded up to a whole one; undefined if it is none. */
export function parseQuantity(text: string): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/.exec(text.trim());
  if (match === null) return undefined;
  const scale = match[2] === undefined ? (SUFFIXES[match[3] ?? ""] ?? 1) : 10 ** Number(match[2]);
  const value = Number(match[1]) * scale;
  return Number.isFinite(value) ? Math.ceil(value) : undefined;
}
