/** Walking through a provider's pages, no further than a bound. */
import { PortError } from "../port-error.ts"
import type { Api, ApiAnswer } from "./client.ts"
import { BRANCHES_MAX, type Branches, REPOSITORIES_MAX, type Repository } from "./port.ts"

export interface Paging {
  readonly firstPath: string
  readonly itemsOf: (json: unknown) => readonly unknown[]
  /** The address of the page after this one. */
  readonly nextOf: (answer: ApiAnswer) => string | undefined
}

const NEXT_LINK = /<([^<>]+)>;\s*rel="?next"?/

/** RFC 8288, as GitHub, GitLab and Gitea use it. */
export const nextLink = ({ headers }: ApiAnswer): string | undefined =>
  NEXT_LINK.exec(headers.link ?? "")?.[1]

export const itemsOfArray = (json: unknown): readonly unknown[] => (Array.isArray(json) ? json : [])

/** Pages in a row; each provider has at least 50 items on one. */
const PAGES_MAX = 100

async function* pages(
  api: Api,
  { firstPath, itemsOf, nextOf }: Paging,
  etag: string | undefined,
  signal: AbortSignal,
) {
  let path: string | undefined = firstPath
  for (let page = 0; path !== undefined && page < PAGES_MAX; page++) {
    const answer: ApiAnswer = await api({ path, signal, ...(page === 0 && { etag }) })
    path = nextOf(answer)
    yield { answer, items: itemsOf(answer.json), isLast: path === undefined }
  }
}

export const listRepositories = async (
  api: Api,
  paging: Paging,
  toRepository: (item: unknown) => Repository,
  signal: AbortSignal,
): Promise<readonly Repository[]> => {
  const found: Repository[] = []
  for await (const { items } of pages(api, paging, undefined, signal)) {
    found.push(...items.map(toRepository))
    if (found.length >= REPOSITORIES_MAX) return found.slice(0, REPOSITORIES_MAX)
  }
  return found
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const BRANCH_LENGTH_MAX = 1_000

export const listBranches = async (
  api: Api,
  paging: Paging,
  toHead: (item: unknown) => { readonly name: string | null; readonly commit: string | null },
  etag: string | undefined,
  signal: AbortSignal,
): Promise<Branches> => {
  const heads = new Map<string, string>()
  let nextEtag: string | undefined
  let isFirst = true
  for await (const { answer, items, isLast } of pages(api, paging, etag, signal)) {
    if (answer.status === 304) return { kind: "unchanged" }
    for (const { name, commit } of items.map(toHead)) {
      if (name !== null && name.length <= BRANCH_LENGTH_MAX && commit !== null && COMMIT.test(commit))
        heads.set(name, commit)
    }
    if (heads.size > BRANCHES_MAX)
      throw new PortError("refused", `there are more than ${BRANCHES_MAX} branches`)
    // The ETag of one page says nothing of the others.
    nextEtag = isFirst && isLast ? answer.headers.etag : undefined
    isFirst = false
  }
  return { kind: "listed", heads, etag: nextEtag }
}
