/** How each model at each upstream does: cool-downs that it asked for, and a circuit breaker over its last answers. */
import type { Candidate } from "./catalog.ts"
import type { UpstreamFailure } from "./failure.ts"

const WINDOW_MS = 30_000
const SAMPLES_MIN = 5
const FAILED_SHARE = 0.5
const OPEN_MS_MIN = 5_000
const OPEN_MS_MAX = 60_000
const COOL_MS_MAX = 6 * 3_600_000
/** A `Retry-After` up to this is waited for by the request itself. */
export const SHORT_WAIT_MS = 2_000
const TRACKED_MAX = 10_000

interface State {
  samples: { readonly atMs: number; readonly isOk: boolean }[]
  /** Asked for by the upstream, or the consequence of a wrong key. */
  coolUntilMs: number
  openUntilMs: number
  openForMs: number
  isProbing: boolean
  failedAtMs: number
}

export type Standing = "healthy" | "open" | "cooling"

export interface Health {
  standing(candidate: Candidate): Standing
  /** When the last failure was; 0 for none. */
  failedAtMs(candidate: Candidate): number
  coolUntilMs(candidate: Candidate): number
  /** A request goes out: after a pause it is the one that probes. */
  begin(candidate: Candidate): void
  succeeded(candidate: Candidate): void
  failed(candidate: Candidate, failure: UpstreamFailure): void
  /** It ended without saying anything about the upstream. */
  cancelled(candidate: Candidate): void
  /** Forgets an upstream that was changed. */
  forget(upstreamKey: string): void
}

const newState = (): State => ({
  samples: [],
  coolUntilMs: 0,
  openUntilMs: 0,
  openForMs: OPEN_MS_MIN,
  isProbing: false,
  failedAtMs: 0,
})

export const createHealth = (now: () => number): Health => {
  const states = new Map<string, State>()
  const nameOf = ({ upstream, model }: Candidate) => `${upstream.key} ${model.id}`

  const find = (candidate: Candidate): State | undefined => states.get(nameOf(candidate))
  const stateOf = (candidate: Candidate): State => {
    const known = find(candidate)
    if (known) return known
    const [oldest] = states.keys()
    if (oldest !== undefined && states.size >= TRACKED_MAX) states.delete(oldest)
    const state = newState()
    states.set(nameOf(candidate), state)
    return state
  }

  const sample = (state: State, isOk: boolean) => {
    const since = now() - WINDOW_MS
    state.samples = state.samples.filter(({ atMs }) => atMs > since)
    state.samples.push({ atMs: now(), isOk })
  }

  const isTripped = ({ samples }: State): boolean =>
    samples.length >= SAMPLES_MIN &&
    samples.filter(({ isOk }) => !isOk).length > samples.length * FAILED_SHARE

  return {
    standing(candidate) {
      const state = find(candidate)
      if (!state) return "healthy"
      if (state.coolUntilMs > now()) return "cooling"
      if (state.openUntilMs > now()) return "open"
      // Half open: one request probes, the others go elsewhere.
      return state.openUntilMs > 0 && state.isProbing ? "open" : "healthy"
    },

    failedAtMs: candidate => find(candidate)?.failedAtMs ?? 0,
    coolUntilMs: candidate => find(candidate)?.coolUntilMs ?? 0,

    begin(candidate) {
      const state = find(candidate)
      if (state && state.openUntilMs > 0) state.isProbing = true
    },

    succeeded(candidate) {
      const state = find(candidate)
      // What never failed needs no record.
      if (!state) return
      sample(state, true)
      state.isProbing = false
      if (state.openUntilMs === 0) return
      state.openUntilMs = 0
      state.openForMs = OPEN_MS_MIN
      state.samples = []
    },

    failed(candidate, { kind, retryAfterMs }) {
      const state = stateOf(candidate)
      const wasOpen = state.openUntilMs > 0
      state.isProbing = false
      if (kind === "refused") return
      state.failedAtMs = now()
      sample(state, false)
      if (retryAfterMs !== undefined && (retryAfterMs > SHORT_WAIT_MS || kind === "misconfigured"))
        state.coolUntilMs = Math.max(state.coolUntilMs, now() + Math.min(retryAfterMs, COOL_MS_MAX))
      if (!wasOpen && !isTripped(state)) return
      if (wasOpen) state.openForMs = Math.min(2 * state.openForMs, OPEN_MS_MAX)
      state.openUntilMs = now() + state.openForMs
    },

    cancelled(candidate) {
      const state = find(candidate)
      if (state) state.isProbing = false
    },

    forget(upstreamKey) {
      for (const name of states.keys()) if (name.startsWith(`${upstreamKey} `)) states.delete(name)
    },
  }
}
