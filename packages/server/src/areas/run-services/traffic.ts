/** Which revision answers a request. */
import { fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"

export interface Share {
  /** Null: the newest that is ready. */
  readonly revision: number | null
  readonly percent: number
  readonly tag: string | null
}

export interface Numbered {
  /** Of the newest. */
  readonly revision: number
  readonly ready_revision: number | null
  readonly traffic: readonly Share[]
}

export const ALL_TO_LATEST: readonly Share[] = [{ revision: null, percent: 100, tag: null }]

/** The newest that is ready; while none has been, the newest, whose first requests wait for its first instance. */
export const latestOf = ({
  revision,
  ready_revision,
}: Pick<Numbered, "revision" | "ready_revision">): number => ready_revision ?? revision

/** The number that a share leads to. */
export const numberOf = (of: Numbered, { revision }: Share): number => revision ?? latestOf(of)

/** `at` is from 0 to 100, 100 not included. */
export const pickRevision = (of: Numbered, tag: string | undefined, at: number): number | undefined => {
  if (tag !== undefined) {
    const tagged = of.traffic.find(share => share.tag === tag)
    return tagged && numberOf(of, tagged)
  }
  let sum = 0
  for (const share of of.traffic) {
    sum += share.percent
    if (at < sum) return numberOf(of, share)
  }
  return undefined
}

/** Those that must be able to run: all with a share or tag, and a new one that is being started. */
export const servedNumbers = (of: Numbered): ReadonlySet<number> =>
  new Set([
    ...of.traffic.map(share => numberOf(of, share)),
    ...(of.revision > (of.ready_revision ?? 0) ? [of.revision] : []),
  ])

/** What a number, name or id says; undefined where it can be none. */
export type RevisionRef = { readonly number: number } | { readonly id: string }

export const readRevisionRef = (name: string, ref: number | string): RevisionRef | undefined => {
  if (typeof ref === "number") return { number: ref }
  if (isUuid(ref)) return { id: ref }
  const digits = ref.startsWith(`${name}-`) ? ref.slice(name.length + 1) : ref
  return /^\d{1,9}$/.test(digits) ? { number: Number(digits) } : undefined
}

export interface GivenShare {
  readonly revision: number | string
  readonly percent: number
  readonly tag?: string
}

/** Throws `invalid_parameter`. `find` gives the number of a revision that is or was ready. */
export const readTraffic = async (
  given: readonly GivenShare[],
  find: (ref: number | string) => Promise<number>,
): Promise<Share[]> => {
  const sum = given.reduce((total, { percent }) => total + percent, 0)
  if (sum !== 100)
    throw fault("invalid_parameter", { reason: `traffic: the percentages are ${sum} in sum, not 100` })
  const tags = given.flatMap(({ tag }) => tag ?? [])
  if (new Set(tags).size !== tags.length)
    throw fault("invalid_parameter", { reason: "traffic: two revisions have the same tag" })
  if (tags.some(tag => tag.includes("---")))
    throw fault("invalid_parameter", { reason: "traffic: a tag cannot hold three dashes in a row" })
  const shares: Share[] = []
  for (const { revision, percent, tag = null } of given)
    shares.push({ revision: revision === "latest" ? null : await find(revision), percent, tag })
  return shares
}
