/** GitHub's REST API (docs.github.com/rest). */
import { type Api, createApi } from "../../client.ts"
import { itemsOfArray, listBranches, listRepositories, nextLink } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp, Repository } from "../../port.ts"
import { listAt, numberAt, objectAt, textAt } from "../../reading.ts"

export const GITHUB_HEADERS = {
  accept: "application/vnd.github+json",
  "x-github-api-version": "2022-11-28",
} as const

/** `owner/name` in a path. */
export const pathOf = (fullName: string): string => fullName.split("/").map(encodeURIComponent).join("/")

export const toRepository = (item: unknown): Repository => {
  const repository = objectAt(item)
  return {
    id: String(numberAt(repository, "id") ?? ""),
    fullName: textAt(repository, "full_name") ?? "",
    private: repository.private === true,
    defaultBranch: textAt(repository, "default_branch"),
    cloneUrl: textAt(repository, "clone_url") ?? "",
  }
}

const HEADS = "refs/heads/"

const toHead = (item: unknown) => ({
  name: textAt(objectAt(item), "ref")?.slice(HEADS.length) ?? null,
  commit: textAt(objectAt(item, "object"), "sha"),
})

/** `repositoriesPath`: a person's own, or those of an installation. */
export const githubAccess = (
  api: Api,
  repositoriesPath: "/user/repos" | "/installation/repositories",
): GitAccess => ({
  repositories: signal =>
    listRepositories(
      api,
      {
        firstPath: `${repositoriesPath}?per_page=100`,
        itemsOf: json => (Array.isArray(json) ? json : listAt(objectAt(json), "repositories")),
        nextOf: nextLink,
      },
      toRepository,
      signal,
    ),
  repository: async (fullName, signal) =>
    toRepository((await api({ path: `/repos/${pathOf(fullName)}`, signal })).json),
  // All refs come in one answer, whose ETag covers them; a 304 costs nothing of the rate limit.
  branches: (fullName, etag, signal) =>
    listBranches(
      api,
      {
        firstPath: `/repos/${pathOf(fullName)}/git/matching-refs/heads/`,
        itemsOf: itemsOfArray,
        nextOf: nextLink,
      },
      toHead,
      etag,
      signal,
    ),
})

export const openGithubAccess = (
  http: GitHttp,
  now: () => number,
  { baseUrl, token }: GitAccount & { kind: "token" },
): GitAccess =>
  githubAccess(
    createApi({
      ...{ http, now, baseUrl },
      headers: async () => ({ ...GITHUB_HEADERS, authorization: `Bearer ${token}` }),
    }),
    "/user/repos",
  )
