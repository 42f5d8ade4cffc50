/** Walking through a provider's pages, no further than a bound. */
import { PortError } from "../port-error.ts"
import type { Api, ApiAnswer } from "./client.ts"
import { BRANCHES_MAX, type Branches, type GitAccess, REPOSITORIES_MAX, type Repository } from "./port.ts"
import { isCommit } from "./reading.ts"

interface Paging {
  readonly itemsOf: (json: unknown) => readonly unknown[]
  /** The address of the page after this one. */
  readonly nextOf: (answer: ApiAnswer) => string | undefined
}

const NEXT_LINK = /<([^<>]+)>;\s*rel="?next"?/

/** RFC 8288, as GitHub, GitLab and Gitea use it. */
const nextLink = ({ headers }: ApiAnswer): string | undefined => NEXT_LINK.exec(headers.link ?? "")?.[1]

const itemsOfArray = (json: unknown): readonly unknown[] => (Array.isArray(json) ? json : [])

/** Pages in a row; each provider has at least 50 items on one. */
const PAGES_MAX = 100

async function* pages(
  api: Api,
  { itemsOf, nextOf }: Paging,
  firstPath: string,
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

const listRepositories = async (
  api: Api,
  shape: AccessShape & Paging,
  signal: AbortSignal,
): Promise<readonly Repository[]> => {
  const found: Repository[] = []
  for await (const { items } of pages(api, shape, shape.repositories, undefined, signal)) {
    found.push(...items.map(shape.toRepository))
    if (found.length >= REPOSITORIES_MAX) return found.slice(0, REPOSITORIES_MAX)
  }
  return found
}

const BRANCH_LENGTH_MAX = 1_000

const listBranches = async (
  api: Api,
  shape: AccessShape & Paging,
  fullName: string,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<Branches> => {
  const heads = new Map<string, string>()
  let nextEtag: string | undefined
  let isFirst = true
  for await (const { answer, items, isLast } of pages(api, shape, shape.branches(fullName), etag, signal)) {
    if (answer.status === 304) return { kind: "unchanged" }
    for (const { name, commit } of items.map(shape.toHead)) {
      if (name !== null && name.length <= BRANCH_LENGTH_MAX && commit !== null && isCommit(commit))
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

/** `owner/name` in a path. */
export const pathOf = (fullName: string): string => fullName.split("/").map(encodeURIComponent).join("/")

/** What tells one provider's API from another's; paths of lists are those of their first pages. */
export interface AccessShape extends Partial<Paging> {
  readonly repositories: string
  readonly repository: (fullName: string) => string
  readonly branches: (fullName: string) => string
  readonly toRepository: (item: unknown) => Repository
  readonly toHead: (item: unknown) => { readonly name: string | null; readonly commit: string | null }
}

/** Without other words of the provider's, a list is an array and the next page a link in the header. */
export const createAccess = (api: Api, given: AccessShape): GitAccess => {
  const shape = { itemsOf: itemsOfArray, nextOf: nextLink, ...given }
  return {
    repositories: signal => listRepositories(api, shape, signal),
    repository: async (fullName, signal) =>
      shape.toRepository((await api({ path: shape.repository(fullName), signal })).json),
    branches: (fullName, etag, signal) => listBranches(api, shape, fullName, etag, signal),
  }
}
