import type MailComposer from "nodemailer/lib/mail-composer"

export type Mime = Omit<
  NonNullable<ConstructorParameters<typeof MailComposer>[0]>,
  "newline" | "disableFileAccess" | "disableUrlAccess"
>

/** The headers and the body of a mail, lines ended by CRLF (RFC 5322, 2045, 2047). */
export const composeMime = async (mail: Mime): Promise<Buffer> => {
  // Late: an installation that sends no mail does without its megabytes.
  const { default: Composer } = await import("nodemailer/lib/mail-composer")
  const own = { newline: "\r\n", disableFileAccess: true, disableUrlAccess: true }
  return new Composer({ ...mail, ...own }).compile().build()
}
