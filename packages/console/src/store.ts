/** A value that components read and everybody may change. */
import { useSyncExternalStore } from "react"

export interface Store<Value> {
  get(): Value
  set(value: Value): void
  use(): Value
}

export const createStore = <Value>(initial: Value): Store<Value> => {
  let value = initial
  const listeners = new Set<() => void>()
  const get = () => value
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    get,
    set(next) {
      value = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, get),
  }
}

/** What this browser remembers; nothing where storage is forbidden. Never a credential. */
export const remember = (name: string, value: string | null): void => {
  try {
    if (value === null) localStorage.removeItem(`svc.${name}`)
    else localStorage.setItem(`svc.${name}`, value)
  } catch {
    // Private windows may forbid it.
  }
}

export const remembered = (name: string): string | null => {
  try {
    return localStorage.getItem(`svc.${name}`)
  } catch {
    return null
  }
}
