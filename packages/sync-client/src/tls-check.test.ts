import assert from "node:assert/strict";
import { test } from "node:test";
import { dialError } from "./tls-check.ts";

function failed(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

const CASES: readonly (readonly [code: string, message: string, isSecured: boolean, wanted: string])[] = [
  ["ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:5473", false, "SYNC_CLIENT_CONNECT"],
  ["CERT_HAS_EXPIRED", "certificate has expired", false, "SYNC_CLIENT_TLS_UNTRUSTED"],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSL alert number 116", true, "SYNC_CLIENT_TLS_REFUSED"],
  [
    "EPROTO",
    "write EPROTO 4:error:0A000412:SSL routines::sslv3 alert bad certificate",
    false,
    "SYNC_CLIENT_TLS_REFUSED",
  ],
  ["ECONNRESET", "read ECONNRESET", true, "SYNC_CLIENT_TLS_REFUSED"],
  ["ECONNRESET", "read ECONNRESET", false, "SYNC_CLIENT_CONNECT"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "wrong version number", false, "SYNC_CLIENT_UPGRADE"],
  ["EPROTO", "write EPROTO 4:error:0A00010B:SSL routines::wrong version number", false, "SYNC_CLIENT_UPGRADE"],
  ["HPE_INVALID_CONSTANT", "Parse Error: Expected HTTP/", true, "SYNC_CLIENT_UPGRADE"],
  ["", "Unexpected server response: 404", true, "SYNC_CLIENT_UPGRADE"],
  ["ERR_OSSL_PEM_NO_START_LINE", "no start line", false, "SYNC_CLIENT_TLS_MATERIAL"],
];

for (const [code, message, isSecured, wanted] of CASES) {
  test(`dialError() puts ${wanted} on ${code || message}${isSecured ? " after the handshake" : ""}`, () => {
    const error = dialError(failed(code, message), "typha:5473", isSecured);
    assert.equal(error.code, wanted);
    assert.ok(error.message.includes(`typha:5473: ${message}`), error.message);
  });
}
