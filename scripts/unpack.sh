# Unpacks programs of Debian's packages beside the system, with all their libraries: other scripts source this file.
# It needs no root and changes nothing else. apt checks the packages' signatures as the machine has it set up.
# shellcheck shell=sh

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Why packages cannot be unpacked on this machine; empty if they can.
unpacking_needs() {
  machine=$(uname -m)
  [ "$machine" = x86_64 ] || { echo "it is unpacked for x86_64, and this machine is $machine"; return; }
  for needed in apt-get dpkg-deb; do
    command -v $needed >/dev/null || { echo "it is unpacked from Debian's packages, and this machine has no $needed"; return; }
  done
  [ -r $keyring ] || echo "it is unpacked from Debian's packages, and this machine has no $keyring"
}

# The mirror that this machine takes Debian from; nothing if there is none. Before its first `apt-get update`, apt does not
# know which of its sources are Debian's: on a Debian, the first that is not the security archive is taken.
mirror_of_debian() {
  found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | head -n 1)
  if [ -z "$found" ] && grep -qx 'ID=debian' /etc/os-release 2>/dev/null; then
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -v security | head -n 1)
  fi
  echo "$found"
}

# unpack FOLDER SUITE PACKAGE...: the packages of that suite of Debian, and all that they depend on, below FOLDER/root.
# It calls `note REASON`, which must end the script, where that cannot work; FOLDER/log has what the programs said.
unpack() {
  work=$1 suite=$2
  shift 2
  why=$(unpacking_needs)
  [ -z "$why" ] || note "$why"
  mirror=$(mirror_of_debian)
  [ -n "$mirror" ] || note "it is unpacked from Debian's packages, and this machine's apt knows no mirror of Debian"
  rm -rf "$work"
  mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/root"
  : >"$work/apt/status"
  cat >"$work/apt/debian.sources" <<END
Types: deb
URIs: $mirror
Suites: $suite
Components: main
Signed-By: $keyring
END
  # The machine's settings (proxies, for one) hold, but not its hooks, which would work on the system.
  cat >"$work/apt/conf" <<END
Dir { State "$work/apt"; State::lists "$work/apt/lists"; State::status "$work/apt/status"; Cache "$work/apt/cache"; };
Dir::Etc { sourcelist "$work/apt/debian.sources"; sourceparts "/dev/null"; preferences "/dev/null"; preferencesparts "/dev/null"; };
APT { Architecture "amd64"; Architectures { "amd64"; }; Sandbox::User ""; Update::Error-Mode "any"; };
Acquire { Retries "1"; Languages "none"; http::Timeout "20"; https::Timeout "20"; };
Debug::NoLocking "true";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
END
  apt_of "$work" update || note "Debian's index cannot be used ($(first_error "$work/log"))"
  apt_of "$work" install --yes --download-only --no-install-recommends "$@" ||
    note "Debian's packages cannot be had ($(first_error "$work/log"))"
  for package in "$work"/apt/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$work/root" 2>"$work/log" ||
      note "$(basename "$package") cannot be unpacked ($(first_error "$work/log"))"
  done
  rm -rf "$work/apt"
}

apt_of() {
  of=$1
  shift
  apt-get -qq -c "$of/apt/conf" "$@" >"$of/log" 2>&1
}

# apt's first error says what happened; the last one is often only that something did.
first_error() {
  { grep '^E: ' "$1" || cat "$1"; } | head -n 1 | sed 's/^E: //; s/  */ /g; s/\.*$//'
}

# own_loader PROGRAM HOME [ARGUMENT...]: PROGRAM, which is in HOME or below it, becomes a script that starts it with the
# loader and the libraries of HOME/lib, and with these arguments behind the given ones. In them, $home stands for HOME
# as it is when the script runs: the folder can be moved or copied.
own_loader() {
  program=$1 up=$(realpath --relative-to="$(dirname "$1")" "$2")
  shift 2
  mv "$program" "$program.elf"
  more=
  for argument in "$@"; do more="$more \"$argument\""; done
  cat >"$program" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd -P)
home=\$(cd "\$here/$up" && pwd)
name=\$(basename "\$0")
libraries=\$home/lib/x86_64-linux-gnu
exec "\$libraries/ld-linux-x86-64.so.2" --library-path "\$libraries:\$libraries/private" --argv0 "\$here/\$name" \\
  "\$here/\$name.elf" "\$@"$more
END
  chmod 755 "$program"
}
