import { defineService } from "../../kernel/service.ts"
import { clock, outbound } from "../../kernel/tokens.ts"
import { git } from "./port.ts"
import { settings } from "./settings.ts"

export const gitService = defineService({
  provides: git,
  settings,
  needs: { clock, outbound },
  async open({ settings: { githubUrl, gitlabUrl, bitbucketUrl, giteaUrl }, clock, outbound }) {
    const { openGit } = await import("./index.ts")
    const baseUrls = { github: githubUrl, gitlab: gitlabUrl, bitbucket: bitbucketUrl, gitea: giteaUrl }
    return openGit({ http: outbound, now: clock.now, baseUrls })
  },
})
