/** Gitea's API, version 1 (docs.gitea.com/api); Forgejo's is the same. */
import { createApi } from "../../client.ts"
import { itemsOfArray, listBranches, listRepositories, nextLink } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp } from "../../port.ts"
import { objectAt, textAt } from "../../reading.ts"
import { pathOf, toRepository } from "../github/access.ts"

const toHead = (item: unknown) => ({
  name: textAt(objectAt(item), "name"),
  commit: textAt(objectAt(item, "commit"), "id"),
})

export const openGiteaAccess = (
  http: GitHttp,
  now: () => number,
  { baseUrl, token }: GitAccount & { kind: "token" },
): GitAccess => {
  const api = createApi({
    ...{ http, now, baseUrl },
    headers: async () => ({ authorization: `token ${token}` }),
  })
  const paging = (firstPath: string) => ({ firstPath, itemsOf: itemsOfArray, nextOf: nextLink })
  return {
    repositories: signal => listRepositories(api, paging("/user/repos?limit=50"), toRepository, signal),
    repository: async (fullName, signal) =>
      toRepository((await api({ path: `/repos/${pathOf(fullName)}`, signal })).json),
    branches: (fullName, etag, signal) =>
      listBranches(api, paging(`/repos/${pathOf(fullName)}/branches?limit=50`), toHead, etag, signal),
  }
}
