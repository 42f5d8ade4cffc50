/** Reports as mail servers and mailbox providers of several makes write them, in our own words. */

const multipart = (type: string, ...parts: readonly (readonly [string, string])[]): string =>
  [
    "From: Mail Delivery System <MAILER-DAEMON@mx.example.org>",
    "To: <bounce@mail.example.com>",
    "Subject: Report",
    "Auto-Submitted: auto-replied",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type=${type}; boundary="=_part"`,
    "",
    ...parts.flatMap(([partType, text]) => ["--=_part", `Content-Type: ${partType}`, "", text, ""]),
    "--=_part--",
    "",
  ].join("\r\n")

const original = "Return-Path: <x@mail.example.com>\r\nSubject: Hello\r\n\r\nHello"

const status = (lines: readonly string[], type = "message/delivery-status"): string =>
  multipart(
    "delivery-status",
    ["text/plain; charset=us-ascii", "Your mail could not be delivered."],
    [type, ["Reporting-MTA: dns; mx.example.org", "", ...lines].join("\r\n")],
    ["message/rfc822", original],
  )

export const arf = (feedbackType: string, returnPath: string): string =>
  multipart(
    "feedback-report",
    ["text/plain", "This is a report about a mail from your server."],
    [
      "message/feedback-report",
      [
        `Feedback-Type: ${feedbackType}`,
        "User-Agent: ExampleLoop/1.0",
        "Version: 1",
        `Original-Mail-From: <${returnPath}>`,
      ].join("\r\n"),
    ],
    ["message/rfc822", `Return-Path: <${returnPath}>\r\nSubject: Hello\r\n\r\nHello`],
  )

export const reports = {
  postfix: status([
    "Final-Recipient: rfc822; nobody@example.org",
    "Original-Recipient: rfc822;nobody@example.org",
    "Action: failed",
    "Status: 5.1.1",
    "Remote-MTA: dns; mx.example.org",
    "Diagnostic-Code: smtp; 550 5.1.1 <nobody@example.org>: Recipient address",
    "    rejected: User unknown",
  ]),
  /** No diagnosis of its own, and capitals. */
  exchange: status([
    "Final-recipient: RFC822; nobody@example.org",
    "Action: Failed",
    "Status: 5.1.10",
    "Diagnostic-code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found",
  ]),
  /** A relay that has no word for it: the diagnosis knows. */
  sendmail: status([
    "Final-Recipient: RFC822; nobody@example.org",
    "Action: failed",
    "Status: 5.0.0",
    "Diagnostic-Code: SMTP; 550 5.1.1 Unknown user",
  ]),
  international: status(
    ["Final-Recipient: utf-8; nöbody@example.org", "Action: failed", "Status: 5.1.1"],
    "message/global-delivery-status",
  ),
  full: status([
    "Final-Recipient: rfc822; nobody@example.org",
    "Action: failed (mailbox full)",
    "Status: 5.2.2",
    "Diagnostic-Code: smtp; 552 5.2.2 Over quota",
  ]),
  delayed: status([
    "Final-Recipient: rfc822; nobody@example.org",
    "Action: delayed",
    "Status: 4.4.1",
    "Diagnostic-Code: smtp; 451 4.4.1 no answer from host",
  ]),
  delivered: status(["Final-Recipient: rfc822; nobody@example.org", "Action: delivered", "Status: 2.0.0"]),
  qmail: [
    "From: MAILER-DAEMON@mx.example.org",
    "Subject: failure notice",
    "",
    "Hi. This is the qmail-send program at mx.example.org.",
    "<nobody@example.org>:",
    "198.51.100.7 does not like recipient.",
    "Remote host said: 550 5.1.1 no such user",
    "Giving up on 198.51.100.7.",
  ].join("\r\n"),
  absence: [
    "From: nobody@example.org",
    "Subject: Out of office until 5.12.",
    "Auto-Submitted: auto-replied",
    "",
    "I am back on Monday. Call 550 1234 if it is urgent.",
  ].join("\r\n"),
} as const
