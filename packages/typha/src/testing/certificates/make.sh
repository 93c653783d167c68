#!/bin/sh
# Makes the certificates of the tests and benches anew: valid from 2020 to 2120, whatever the machine's clock says.
# Keys that are in a repository protect nothing: never use them for anything else.
set -eu
cd "$(dirname "$0")"
rm -f ./*.crt ./*.key
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sign() { # name, "-selfsign" or "-cert x -keyfile y", extensions, end
  : >"$work/index.txt"
  cat >"$work/ca.cnf" <<CONFIG
[ca]
default_ca = d
[d]
database = $work/index.txt
new_certs_dir = $work
rand_serial = yes
unique_subject = no
default_md = sha256
policy = p
x509_extensions = e
[p]
commonName = optional
organizationName = optional
[e]
$3
CONFIG
  openssl ca -batch -config "$work/ca.cnf" -notext -startdate 20200101000000Z -enddate "$4" \
    -in "$work/$1.csr" -out "$1.crt" $2
}
request() { # name, subject
  openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
  openssl req -new -key "$1.key" -subj "$2" -out "$work/$1.csr"
}
ca() {
  request "$1" "/CN=$1"
  sign "$1" "-selfsign -keyfile $1.key" "basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign" 21200101000000Z
}
leaf() {  # name, ca, subject, subject alternative names, end
  request "$1" "$3"
  sign "$1" "-cert $2.crt -keyfile $2.key" "extendedKeyUsage=serverAuth,clientAuth
${4:+subjectAltName=${4:-}}" "${5:-21200101000000Z}"
}
ca ca
ca other-ca
leaf server ca /CN=typha-server DNS:localhost
leaf client-cn ca /CN=typha-client ""
leaf client-uri ca /O=clients URI:spiffe://cluster/typha-client
leaf client-both ca /CN=typha-client URI:spiffe://cluster/typha-client
leaf client-bad ca /CN=someone URI:spiffe://cluster/someone
leaf client-untrusted other-ca /CN=typha-client URI:spiffe://cluster/typha-client
leaf client-expired ca /CN=typha-client "" 20200201000000Z
rm ca.key other-ca.key
