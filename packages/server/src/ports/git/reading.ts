/** Reading what providers send: whatever is missing or of another type is null, never a failure. */
import { PortError } from "../port-error.ts"
import type { Delivery, GitEvent } from "./port.ts"

export type Json = Readonly<Record<string, unknown>>

export const objectAt = (value: unknown, ...path: readonly string[]): Json => {
  let at = value
  for (const name of path) at = isObject(at) ? at[name] : undefined
  return isObject(at) ? at : {}
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const listAt = (value: Json, name: string): readonly unknown[] => {
  const list = value[name]
  return Array.isArray(list) ? list : []
}

/** What PostgreSQL's text cannot hold is left out, and what nobody reads is cut off. */
const TEXT_MAX = 1_024
export const textAt = (value: Json, name: string): string | null => {
  const text = value[name]
  return typeof text === "string" && text !== ""
    ? text.replaceAll("\0", "").toWellFormed().slice(0, TEXT_MAX).toWellFormed()
    : null
}

export const numberAt = (value: Json, name: string): number | null => {
  const number = value[name]
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null
}

export const firstLine = (text: string | null): string | null => text?.split("\n", 1)[0] ?? null

/** SHA-1 or SHA-256. */
export const isCommit = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

/** A commit's id; null for anything else, and for the zeros that stand for none. */
export const commitAt = (value: Json, name: string): string | null => {
  const text = value[name]
  return typeof text === "string" && isCommit(text) && !/^0+$/.test(text) ? text : null
}

const FORM = "application/x-www-form-urlencoded"

/** The JSON object of a delivery; GitHub and Gitea send it as a form where somebody chose that. */
export const readJson = ({ header, body }: Delivery): Json => {
  const text = body.toString("utf8")
  try {
    const isForm = header("content-type")?.startsWith(FORM) === true
    const json: unknown = JSON.parse(isForm ? (new URLSearchParams(text).get("payload") ?? "") : text)
    if (isObject(json)) return json
  } catch {
    // Below.
  }
  throw new PortError("refused", "the body of a delivery is not a JSON object")
}

/** Changed files of a push; more are not told apart. */
const PATHS_MAX = 3_000

/** The files that a push's commits name; null where not all of them are named. */
export const pathsOf = (commits: readonly unknown[], isWhole: boolean): string[] | null => {
  if (!isWhole) return null
  const paths = new Set<string>()
  for (const commit of commits) {
    for (const kind of ["added", "modified", "removed"]) {
      for (const path of listAt(objectAt(commit), kind)) {
        if (typeof path !== "string" || path.length > TEXT_MAX || path.includes("\0")) return null
        paths.add(path.toWellFormed())
      }
    }
    if (paths.size > PATHS_MAX) return null
  }
  return [...paths]
}

const NOTHING: GitEvent = {
  ...{ type: "other", repository: "", ref: null, commit: null, commitBefore: null },
  ...{ message: null, author: null, paths: null, pullRequest: null },
}

/** An event of which only this is known. */
export const eventOf = (known: Partial<GitEvent> & Pick<GitEvent, "type" | "repository">): GitEvent => ({
  ...NOTHING,
  ...known,
})

/** What a provider tells of a pull request. */
export interface PullRequestTold {
  readonly repository: string
  /** Null: it is none that could be named. */
  readonly number: number | null
  readonly action: string
  readonly source: string | null
  readonly target: string | null
  readonly commit: string | null
  readonly title: string | null
  readonly author: string | null
}

export const pullRequestEvent = (told: PullRequestTold): GitEvent => {
  const { repository, number, action, commit, author } = told
  if (number === null) return eventOf({ type: "other", repository })
  return eventOf({
    ...{ type: "pull_request", repository, commit, author },
    ref: told.source === null ? null : `refs/heads/${told.source}`,
    message: firstLine(told.title),
    pullRequest: { number, action, source: told.source ?? "", target: told.target ?? "" },
  })
}

export const typeOfRef = (ref: string | null): "push" | "tag" | "other" => {
  if (ref?.startsWith("refs/heads/")) return "push"
  return ref?.startsWith("refs/tags/") ? "tag" : "other"
}
