import { useEffect, useState } from "react"

export type Loaded<Value> =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly reason: string }
  | { readonly state: "ready"; readonly value: Value }

/** What `load` brings for this key. A late answer for an earlier key is dropped. */
export const useLoaded = <Value>(key: string, load: () => Promise<Value>): Loaded<Value> => {
  const [known, setKnown] = useState<{ key: string; loaded: Loaded<Value> }>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key names what `load` would bring
  useEffect(() => {
    let isCurrent = true
    const keep = (loaded: Loaded<Value>) => {
      if (isCurrent) setKnown({ key, loaded })
    }
    load().then(
      value => keep({ state: "ready", value }),
      error => keep({ state: "failed", reason: error instanceof Error ? error.message : String(error) }),
    )
    return () => {
      isCurrent = false
    }
  }, [key])
  return known?.key === key ? known.loaded : { state: "loading" }
}
