/** Factors of the suffixes that Kubernetes writes amounts of storage with. */
const suffixes: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
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
}

/** Bytes of a quantity as `10Gi`, `1.5T` or `12e6`, rounded up; 0 for what is none. */
export const quantityOf = (text: string): number => {
  const [, number, suffix = ""] = /^([0-9]+(?:\.[0-9]*)?(?:[eE][0-9]+)?)([A-Za-z]*)$/.exec(text) ?? []
  return Math.ceil(Number(number ?? 0) * (suffixes[suffix] ?? 0))
}
