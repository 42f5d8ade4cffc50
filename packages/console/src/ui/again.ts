import { useEffect, useState } from "react"
import { useLoaded } from "./load.ts"

/** What `load` brings, again every `everyMs` while the tab is seen. What was there stays until the next comes. */
export const useAgain = <Value>(key: string, load: () => Promise<Value>, everyMs: number) => {
  const [version, setVersion] = useState(0)
  const loaded = useLoaded(`${key} ${version}`, load)
  const [kept, setKept] = useState<{ readonly key: string; readonly value: Value }>()
  useEffect(() => {
    if (loaded.state === "ready") setKept({ key, value: loaded.value })
  }, [loaded, key])
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setVersion(known => known + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return {
    value: kept?.key === key ? kept.value : undefined,
    error: loaded.state === "failed" ? loaded.reason : undefined,
    reload: () => setVersion(known => known + 1),
  }
}
