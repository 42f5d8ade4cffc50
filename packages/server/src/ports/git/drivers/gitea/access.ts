/** Gitea's API, version 1 (docs.gitea.com/api); Forgejo's is the same. */
import { createApi } from "../../client.ts"
import { createAccess, pathOf } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp } from "../../port.ts"
import { objectAt, textAt } from "../../reading.ts"
import { toRepository } from "../github/access.ts"

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
  return createAccess(api, {
    repositories: "/user/repos?limit=50",
    repository: fullName => `/repos/${pathOf(fullName)}`,
    branches: fullName => `/repos/${pathOf(fullName)}/branches?limit=50`,
    ...{ toRepository, toHead },
  })
}
