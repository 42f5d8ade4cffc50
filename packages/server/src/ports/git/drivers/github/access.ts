/** GitHub's REST API (docs.github.com/rest). */
import { type Api, createApi } from "../../client.ts"
import { createAccess, pathOf } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp, Repository } from "../../port.ts"
import { listAt, numberAt, objectAt, textAt } from "../../reading.ts"

export const GITHUB_HEADERS = {
  accept: "application/vnd.github+json",
  "x-github-api-version": "2022-11-28",
} as const

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
): GitAccess =>
  createAccess(api, {
    repositories: `${repositoriesPath}?per_page=100`,
    repository: fullName => `/repos/${pathOf(fullName)}`,
    // All refs come in one answer, whose ETag covers them; a 304 costs nothing of the rate limit.
    branches: fullName => `/repos/${pathOf(fullName)}/git/matching-refs/heads/`,
    ...{ toRepository, toHead },
    // An installation's are named.
    itemsOf: json => (Array.isArray(json) ? json : listAt(objectAt(json), "repositories")),
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
