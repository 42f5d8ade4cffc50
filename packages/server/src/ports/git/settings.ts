import type { Settings } from "../../kernel/setting.ts"
import { urlOr } from "../../kernel/setting-parsers.ts"

export const settings = {
  githubUrl: {
    variable: "SVC_GITHUB_URL",
    default: "https://api.github.com",
    description:
      "GitHub's API, unless a project's credentials name another: `https://github.example.com/api/v3`.",
    parse: urlOr("https://api.github.com"),
  },
  gitlabUrl: {
    variable: "SVC_GITLAB_URL",
    default: "https://gitlab.com/api/v4",
    description: "The same for GitLab.",
    parse: urlOr("https://gitlab.com/api/v4"),
  },
  bitbucketUrl: {
    variable: "SVC_BITBUCKET_URL",
    default: "https://api.bitbucket.org/2.0",
    description: "The same for Bitbucket Cloud.",
    parse: urlOr("https://api.bitbucket.org/2.0"),
  },
  giteaUrl: {
    variable: "SVC_GITEA_URL",
    default: "https://gitea.com/api/v1",
    description: "The same for Gitea or Forgejo.",
    parse: urlOr("https://gitea.com/api/v1"),
  },
} as const satisfies Settings
