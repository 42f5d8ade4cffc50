/** Bitbucket Cloud's REST API 2.0 (developer.atlassian.com/cloud/bitbucket/rest). */
import { createApi } from "../../client.ts"
import { createAccess, pathOf } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp, Repository } from "../../port.ts"
import { listAt, objectAt, textAt } from "../../reading.ts"

const cloneUrlOf = (repository: unknown): string => {
  const links = listAt(objectAt(repository, "links"), "clone").map(link => objectAt(link))
  return textAt(links.find(({ name }) => name === "https") ?? {}, "href") ?? ""
}

const toRepository = (item: unknown): Repository => {
  const repository = objectAt(item)
  return {
    id: textAt(repository, "uuid") ?? "",
    fullName: textAt(repository, "full_name") ?? "",
    private: repository.is_private === true,
    defaultBranch: textAt(objectAt(repository, "mainbranch"), "name"),
    cloneUrl: cloneUrlOf(repository),
  }
}

const toHead = (item: unknown) => ({
  name: textAt(objectAt(item), "name"),
  commit: textAt(objectAt(item, "target"), "hash"),
})

export const openBitbucketAccess = (
  http: GitHttp,
  now: () => number,
  { baseUrl, token, username }: GitAccount & { kind: "token" },
): GitAccess => {
  const authorization =
    username === null ? `Bearer ${token}` : `Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`
  const api = createApi({ ...{ http, now, baseUrl }, headers: async () => ({ authorization }) })
  return createAccess(api, {
    repositories: "/repositories?role=member&pagelen=100",
    repository: fullName => `/repositories/${pathOf(fullName)}`,
    branches: fullName => `/repositories/${pathOf(fullName)}/refs/branches?pagelen=100`,
    ...{ toRepository, toHead },
    itemsOf: json => listAt(objectAt(json), "values"),
    // Bitbucket names the next page in the body.
    nextOf: ({ json }) => textAt(objectAt(json), "next") ?? undefined,
  })
}
