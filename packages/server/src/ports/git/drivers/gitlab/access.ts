/** GitLab's REST API, version 4 (docs.gitlab.com/api/rest). */
import { createApi } from "../../client.ts"
import { createAccess } from "../../pages.ts"
import type { GitAccess, GitAccount, GitHttp, Repository } from "../../port.ts"
import { numberAt, objectAt, textAt } from "../../reading.ts"

const toRepository = (item: unknown): Repository => {
  const project = objectAt(item)
  return {
    id: String(numberAt(project, "id") ?? ""),
    fullName: textAt(project, "path_with_namespace") ?? "",
    private: project.visibility !== "public",
    defaultBranch: textAt(project, "default_branch"),
    cloneUrl: textAt(project, "http_url_to_repo") ?? "",
  }
}

const toHead = (item: unknown) => ({
  name: textAt(objectAt(item), "name"),
  commit: textAt(objectAt(item, "commit"), "id"),
})

export const openGitlabAccess = (
  http: GitHttp,
  now: () => number,
  { baseUrl, token }: GitAccount & { kind: "token" },
): GitAccess => {
  // Personal, group and project tokens and OAuth's are all taken as bearers.
  const api = createApi({
    ...{ http, now, baseUrl },
    headers: async () => ({ authorization: `Bearer ${token}` }),
  })
  const project = (fullName: string) => `/projects/${encodeURIComponent(fullName)}`
  return createAccess(api, {
    repositories: "/projects?membership=true&simple=true&per_page=100",
    repository: project,
    branches: fullName => `${project(fullName)}/repository/branches?per_page=100`,
    ...{ toRepository, toHead },
  })
}
