/** What counts as a push to build: filters, and telling what is new from what is known. */
import type { GitProviderName } from "../../ports/git/port.ts"

type Step =
  | { readonly kind: "text"; readonly character: string }
  | { readonly kind: "any" | "star" | "globstar" }

const stepsOf = (glob: string): readonly Step[] => {
  const steps: Step[] = []
  const characters = [...glob]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? ""
    if (character === "*" && characters[at + 1] === "*") {
      while (characters[at + 1] === "*") at++
      // `a/**/b` is `a/b` too.
      if (characters[at + 1] === "/" && (steps.length === 0 || isSlash(steps.at(-1)))) at++
      steps.push({ kind: "globstar" })
    } else if (character === "*") steps.push({ kind: "star" })
    else if (character === "?") steps.push({ kind: "any" })
    else steps.push({ kind: "text", character })
  }
  return steps
}

const isSlash = (step: Step | undefined): boolean => step?.kind === "text" && step.character === "/"

/** The states that a state stands for as well: stars may be nothing. */
const spread = (steps: readonly Step[], states: Set<number>, from: number): void => {
  for (let at = from; ; at++) {
    states.add(at)
    const kind = steps[at]?.kind
    if (kind !== "star" && kind !== "globstar") return
  }
}

const moves = (step: Step, character: string): boolean =>
  step.kind === "globstar" || (step.kind === "text" ? step.character === character : character !== "/")

/**
 * Whether a glob takes in the whole text: `*` is anything but `/`, `**` anything, `?` one character but `/`. All states
 * of the glob are followed at once (Thompson, 1968), so the time is at most the product of the two lengths, whatever
 * the glob.
 */
export const matchesGlob = (glob: string, text: string): boolean => {
  const steps = stepsOf(glob)
  let states = new Set<number>()
  spread(steps, states, 0)
  for (const character of text) {
    const next = new Set<number>()
    for (const at of states) {
      const step = steps[at]
      if (step === undefined || !moves(step, character)) continue
      const stays = step.kind === "star" || step.kind === "globstar"
      spread(steps, next, stays ? at : at + 1)
    }
    if (next.size === 0) return false
    states = next
  }
  return states.has(steps.length)
}

const TAGS = "refs/tags/"
const HEADS = "refs/heads/"

/** Whether a branch passes: any without filters. A tag passes by a filter of its own only. */
export const passesBranches = (filters: readonly string[], ref: string): boolean => {
  if (ref.startsWith(TAGS)) return filters.some(glob => glob.startsWith(TAGS) && matchesGlob(glob, ref))
  const branch = ref.startsWith(HEADS) ? ref.slice(HEADS.length) : ref
  const ofBranches = filters.filter(glob => !glob.startsWith(TAGS))
  return ofBranches.length === 0 || ofBranches.some(glob => matchesGlob(glob, branch))
}

/** Whether one of the paths is included and not excluded. Paths that nobody knows may be any. */
export const passesPaths = (
  { include, exclude }: { readonly include: readonly string[]; readonly exclude: readonly string[] },
  paths: readonly string[] | null,
): boolean => {
  if (paths === null || (include.length === 0 && exclude.length === 0)) return true
  return paths.some(
    path =>
      (include.length === 0 || include.some(glob => matchesGlob(glob, path))) &&
      !exclude.some(glob => matchesGlob(glob, path)),
  )
}

export interface Move {
  readonly commit: string
  readonly before: string | null
}

/** Whether the same move was made before, and nothing that is recorded since leads back to where it starts. */
const isRepeated = ({ commit, before }: Move, recorded: readonly Move[]): boolean => {
  const earlier = recorded.findIndex(move => move.commit === commit && move.before === before)
  if (earlier < 0) return false
  const since = recorded.slice(0, earlier).reverse()
  return since.reduce((at, move) => (move.before === at ? move.commit : at), commit) !== before
}

/**
 * Whether a push is news. Pushes arrive late, twice, in another order, or are found by looking before they are told:
 * - `known`: the branch is at that commit already, or the same push was told before.
 * - `new`: the branch moves on from where it is known to be, or from where nobody saw it.
 * - `late`: the branch has moved on since.
 *
 * @param head the commit at which the branch is known to be
 * @param recorded the moves of the branch that were taken for new before, the newest first
 */
export const noveltyOf = (
  head: string | undefined,
  { commit, before }: Move,
  recorded: readonly Move[],
): "known" | "new" | "late" => {
  if (head === commit) return "known"
  if (head === undefined) return "new"
  if (head === before) return isRepeated({ commit, before }, recorded) ? "known" : "new"
  const isPast = recorded.some(
    move => move.commit === commit || move.before === commit || (before !== null && move.before === before),
  )
  return isPast ? "late" : "new"
}

export interface Head {
  readonly ref: string
  readonly commit: string
  readonly knownAt: Date
}

export interface Differences {
  /** Known from now on without being pushes. */
  readonly baseline: readonly { readonly ref: string; readonly commit: string }[]
  readonly pushes: readonly {
    readonly ref: string
    readonly commit: string
    readonly commitBefore: string | null
  }[]
  readonly gone: readonly string[]
}

/**
 * What a look at the branches shows. What was heard of a branch since the look began is newer than it.
 *
 * @param heads commits by branch, as they were seen
 * @param isFirst whether nobody looked before, so that branches which nobody knows are no pushes
 */
export const differencesOf = (
  known: ReadonlyMap<string, Head>,
  heads: ReadonlyMap<string, string>,
  { isFirst, startedAt }: { readonly isFirst: boolean; readonly startedAt: Date },
): Differences => {
  const isOlder = ({ knownAt }: Head) => knownAt < startedAt
  const seen = [...heads].map(([branch, commit]) => ({ ref: `${HEADS}${branch}`, commit }))
  const changed = seen.filter(({ ref, commit }) => {
    const head = known.get(ref)
    return head === undefined || (head.commit !== commit && isOlder(head))
  })
  const isBaseline = ({ ref }: { ref: string }) => isFirst && !known.has(ref)
  return {
    baseline: changed.filter(isBaseline),
    pushes: changed
      .filter(each => !isBaseline(each))
      .map(({ ref, commit }) => ({ ref, commit, commitBefore: known.get(ref)?.commit ?? null })),
    gone: [...known.values()]
      .filter(head => head.ref.startsWith(HEADS) && !heads.has(head.ref.slice(HEADS.length)) && isOlder(head))
      .map(({ ref }) => ref),
  }
}

const SEGMENT = /^[A-Za-z0-9_.-]{1,100}$/

/** Why a repository's name cannot be one, as a sentence; undefined where it can. */
export const repositoryProblem = (provider: GitProviderName, repository: string): string | undefined => {
  const segments = repository.split("/")
  const isDeep = provider === "gitlab" ? segments.length >= 2 && segments.length <= 21 : segments.length === 2
  if (!isDeep) return "a repository is named as owner/name"
  const isWrong = segments.some(segment => !SEGMENT.test(segment) || segment === "." || segment === "..")
  return isWrong ? "a repository's name has letters, digits, dots, dashes and underscores" : undefined
}

/** The words of the providers for a pull request that has commits which were not there before. */
const BUILDS: ReadonlySet<string> = new Set([
  ...["opened", "reopened", "synchronize", "synchronized"],
  ...["open", "reopen", "update"],
  ...["created", "updated"],
])

export const bringsCommits = (action: string): boolean => BUILDS.has(action)
