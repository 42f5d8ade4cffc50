import type { Settings } from "../../kernel/setting.ts"
import { urlOr } from "../../kernel/setting-parsers.ts"

export const settings = {
  githubUrl: {
    variable: "SVC_GITHUB_URL",
    otherwise: "https://api.github.com",
    meaning:
      "GitHub's API, unless a project's credentials name another: `https://github.example.com/api/v3`.",
    parse: urlOr("https://api.github.com"),
  },
  gitlabUrl: {
    variable: "SVC_GITLAB_URL",
    otherwise: "https://gitlab.com/api/v4",
    meaning: "The same for GitLab.",
    parse: urlOr("https://gitlab.com/api/v4"),
  },
  bitbucketUrl: {
    variable: "SVC_BITBUCKET_URL",
    otherwise: "https://api.bitbucket.org/2.0",
    meaning: "The same for Bitbucket Cloud.",
    parse: urlOr("https://api.bitbucket.org/2.0"),
  },
  giteaUrl: {
    variable: "SVC_GITEA_URL",
    otherwise: "https://gitea.com/api/v1",
    meaning: "The same for Gitea or Forgejo.",
    parse: urlOr("https://gitea.com/api/v1"),
  },
} as const satisfies Settings
