import { defineService } from "../../kernel/service.ts"
import { installation, sockets } from "../../kernel/tokens.ts"
import { mails } from "./port.ts"
import { settings } from "./settings.ts"

export const mailService = defineService({
  provides: mails,
  settings,
  needs: { installation, sockets },
  async open({ settings: { smtpServer, mailDirect, mailFrom }, installation, sockets }, { opened }) {
    const { openMails } = await import("./index.ts")
    const { hostname } = new URL(installation.baseUrl)
    return opened.use(
      openMails({
        relay: smtpServer && { ...smtpServer, maxPerSecond: null },
        direct: mailDirect === "on",
        from: mailFrom ?? `no-reply@${hostname}`,
        helo: hostname,
        dnsServers: installation.dnsServers,
        connect: sockets.connect,
      }),
    )
  },
})
