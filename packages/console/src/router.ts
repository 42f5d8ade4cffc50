/** Addresses of the console: a path below `/console`, and what the page needs in the query. */
import { type MouseEvent, useSyncExternalStore } from "react"
import { root } from "./root.ts"

const BASE = `${root}/console`
const listeners = new Set<() => void>()
const changed = () => {
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

window.addEventListener("popstate", changed)

const current = () => location.href

export interface Place {
  /** Below `/console`, without a slash at either end. */
  readonly path: string
  readonly query: URLSearchParams
}

const placeOf = (href: string): Place => {
  const { pathname, searchParams } = new URL(href)
  return { path: pathname.slice(BASE.length).replace(/^\/+|\/+$/g, ""), query: searchParams }
}

export const usePlace = (): Place => placeOf(useSyncExternalStore(subscribe, current))

/** A page's address. The project goes along, so that a link shows the same to whoever gets it. */
export const href = (path: string, query: Readonly<Record<string, string>> = {}): string => {
  const search = new URLSearchParams(query)
  const project = new URLSearchParams(location.search).get("in")
  if (project !== null && !search.has("in")) search.set("in", project)
  return `${BASE}${path === "" ? "" : `/${path}`}${search.size > 0 ? `?${search}` : ""}`
}

export const go = (address: string, { replace = false } = {}): void => {
  if (replace) history.replaceState(null, "", address)
  else history.pushState(null, "", address)
  if (!replace) window.scrollTo(0, 0)
  changed()
}

/** Changes the query of this page; null takes a field away. */
export const setQuery = (fields: Readonly<Record<string, string | null>>): void => {
  const url = new URL(location.href)
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  go(`${url.pathname}${url.search}`, { replace: true })
}

/** Links are real, so a middle click opens a tab; a plain one stays in this page. */
export const followLink = (event: MouseEvent<HTMLElement>): void => {
  const link = (event.target as HTMLElement).closest("a")
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.target !== "" || link.hasAttribute("download")) return
  const url = new URL(link.href)
  const isOurs =
    url.origin === location.origin && (url.pathname === BASE || url.pathname.startsWith(`${BASE}/`))
  if (!isOurs || (url.hash !== "" && url.pathname === location.pathname)) return
  event.preventDefault()
  go(`${url.pathname}${url.search}`)
}
