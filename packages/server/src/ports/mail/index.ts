/** How this installation sends mail, from its settings. */
export { openMails } from "./drivers/mails.ts"
