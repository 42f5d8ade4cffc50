/** Provider name → driver. All of them are always there: which are asked is a matter of each project's credentials. */
import { openBitbucketAccess } from "./drivers/bitbucket/access.ts"
import { bitbucketHooks } from "./drivers/bitbucket/hooks.ts"
import { openGiteaAccess } from "./drivers/gitea/access.ts"
import { giteaHooks } from "./drivers/gitea/hooks.ts"
import { openGithubAccess } from "./drivers/github/access.ts"
import { createTokenCache, openGithubApp } from "./drivers/github/app.ts"
import { githubHooks } from "./drivers/github/hooks.ts"
import { openGitlabAccess } from "./drivers/gitlab/access.ts"
import { gitlabHooks } from "./drivers/gitlab/hooks.ts"
import type { GitHttp, GitPort, GitProviderName } from "./port.ts"

const HOOKS = { github: githubHooks, gitlab: gitlabHooks, bitbucket: bitbucketHooks, gitea: giteaHooks }

const ACCESS = {
  github: openGithubAccess,
  gitlab: openGitlabAccess,
  bitbucket: openBitbucketAccess,
  gitea: openGiteaAccess,
}

export interface GitOptions {
  readonly http: GitHttp
  readonly now: () => number
  /** The API's address of each provider, unless a project's credentials name another. */
  readonly baseUrls: Readonly<Record<GitProviderName, string>>
}

export const openGit = ({ http, now, baseUrls }: GitOptions): GitPort => {
  const tokens = createTokenCache()
  return {
    baseUrls,
    hooks: provider => HOOKS[provider],
    access: (provider, account) => ACCESS[provider](http, now, account),
    app: account => openGithubApp(http, now, tokens, account),
  }
}
