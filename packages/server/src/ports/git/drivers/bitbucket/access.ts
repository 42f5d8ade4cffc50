/** Bitbucket Cloud's REST API 2.0 (developer.atlassian.com/cloud/bitbucket/rest). */
import { type ApiAnswer, createApi } from "../../client.ts"
import { listBranches, listRepositories } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp, Repository } from "../../port.ts"
import { listAt, objectAt, textAt } from "../../reading.ts"
import { pathOf } from "../github/access.ts"

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

/** Bitbucket names the next page in the body. */
const paging = (firstPath: string) => ({
  firstPath,
  itemsOf: (json: unknown) => listAt(objectAt(json), "values"),
  nextOf: ({ json }: ApiAnswer) => textAt(objectAt(json), "next") ?? undefined,
})

export const openBitbucketAccess = (
  http: GitHttp,
  now: () => number,
  { baseUrl, token, username }: GitAccount & { kind: "token" },
): GitAccess => {
  const authorization =
    username === null ? `Bearer ${token}` : `Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`
  const api = createApi({ ...{ http, now, baseUrl }, headers: async () => ({ authorization }) })
  return {
    repositories: signal =>
      listRepositories(api, paging("/repositories?role=member&pagelen=100"), toRepository, signal),
    repository: async (fullName, signal) =>
      toRepository((await api({ path: `/repositories/${pathOf(fullName)}`, signal })).json),
    branches: (fullName, etag, signal) =>
      listBranches(
        api,
        paging(`/repositories/${pathOf(fullName)}/refs/branches?pagelen=100`),
        toHead,
        etag,
        signal,
      ),
  }
}
